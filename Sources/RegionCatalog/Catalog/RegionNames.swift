/// The names by which owners and devices know a region: its id and its product, and those that it had before.
///
/// An account that bought a former product owns the region; a device that has it under a former id keeps it. An id
/// leads to one region, whatever its age. A former product may lead to several, as when a region is divided.
package struct RegionNames: Hashable, Sendable {
  package var id: String
  package var productID: String
  package var formerIDs: [String] = []
  package var formerProductIDs: [String] = []

  package init(id: String, productID: String, formerIDs: [String] = [], formerProductIDs: [String] = []) {
    (self.id, self.productID) = (id, productID)
    (self.formerIDs, self.formerProductIDs) = (formerIDs, formerProductIDs)
  }

  /// The present id first.
  package var ids: [String] { [id] + formerIDs }
  /// The present product first.
  package var products: [String] { [productID] + formerProductIDs }

  package static let formerIDsKey = "formerIds"
  package static let formerProductIDsKey = "formerProductIds"

  /// Whether a text may be part of file names and URLs: ids and editions, and with more bytes the names of files.
  package static func isName(_ text: String, bytesMax: Int = 100) -> Bool {
    func isLetterOrDigit(_ byte: UInt8) -> Bool {
      (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
    }
    guard let first = text.utf8.first, isLetterOrDigit(first), text.utf8.count <= bytesMax else { return false }
    return text.utf8.allSatisfy { isLetterOrDigit($0) || "._-".utf8.contains($0) }
  }
}

extension RegionNames {
  /// A former name that contradicts another name.
  package struct Fault: Hashable, Sendable {
    /// The index of the region.
    package let region: Int
    /// The member with the index of its element: `formerIds[0]`.
    package let member: String
    package let message: String
    package let remedy: String
  }

  /// The former names that contradict others: with the region's own names, a present name of another region (so also
  /// two regions that name each other), or a former id of another region.
  ///
  /// - Complexity: O(names).
  package static func faults(of regions: [RegionNames]) -> [Fault] {
    let ids = Dictionary(regions.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
    let products = Dictionary(regions.enumerated().map { ($1.productID, $0) }, uniquingKeysWith: { first, _ in first })
    var former: [String: Int] = [:]
    var faults: [Fault] = []
    for (index, region) in regions.enumerated() {
      func check(_ names: [String], _ key: String, own: String, present: [String: Int], _ what: String) {
        var seen: Set<String> = [own]
        for (number, name) in names.enumerated() {
          func add(_ message: String, _ remedy: String) {
            faults.append(Fault(region: index, member: "\(key)[\(number)]", message: message, remedy: remedy))
          }
          if !seen.insert(name).inserted {
            add("repeats \"\(name)\"", "leave it out")
          } else if let other = present[name], other != index {
            add(
              "is \"\(name)\", which is \(what) of regions[\(other)]",
              "leave it out, or give that region \(what) that no region had")
          } else if key == formerIDsKey, let other = former.updateValue(index, forKey: name) {
            add("is \"\(name)\", as a former id of regions[\(other)] is", "leave it out of one of them")
          }
        }
      }
      check(region.formerIDs, formerIDsKey, own: region.id, present: ids, "an id")
      check(region.formerProductIDs, formerProductIDsKey, own: region.productID, present: products, "a product")
    }
    return faults
  }
}

extension Catalog.Region {
  package var names: RegionNames {
    RegionNames(
      id: id, productID: productId, formerIDs: formerIds ?? [], formerProductIDs: formerProductIds ?? [])
  }
}
