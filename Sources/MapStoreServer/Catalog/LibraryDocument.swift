import MapStoreWire
import RegionCatalog
import TileIndex

/// An account's status of one region.
struct LibraryEntry: Hashable, Sendable {
  /// Position in the catalogue.
  var region: Int
  var status: LibraryStatus
  var installedEdition: String?
  var patchBytes: Int?
}

/// All that makes one library differ from another of the same catalogue: the key under which its document is cached.
struct LibraryKey: ReplyCacheKey {
  /// In ascending order: of several grants of one product, the greatest counts.
  enum Standing: Int, Comparable, Sendable {
    case revoked, pending, owned

    static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }

  /// By position in the catalogue; regions without any grant are absent.
  var standing: [Int: Standing]
  /// Editions by region id, as the device reports them.
  var installed: [String: String]

  var byteCount: Int {
    // Estimated with the spare capacity of hash tables.
    installed.reduce(32 * standing.count) { $0 + 128 + $1.key.utf8.count + $1.value.utf8.count }
  }
}

/// Writes libraries as JSON. Most of a region's text is the same for all accounts, so it is encoded once, and only the
/// varying members are inserted.
struct LibraryWriter: Sendable {
  /// For each region, `{"id":…,"productId":…,"title":…,"status":"` and `","isForSale":…,"edition":…,"bytes":…`.
  private let parts: [(head: String, tail: String)]

  init(_ regions: [Catalog.Region], isForSale: [Bool]) {
    parts = zip(regions, isForSale).map { region, isForSale in
      let item = LibraryRegion(
        id: region.id, productId: region.productId, title: region.title, status: .forSale, isForSale: isForSale,
        edition: region.edition, bytes: region.bytes, formerIds: region.formerIds)
      // Encoding texts and numbers does not fail.
      let text = String(decoding: (try? WireJSON.encode(item)) ?? [], as: UTF8.self)
      let mark = "\"status\":\"\(LibraryStatus.forSale.rawValue)"
      // Ids cannot contain the mark: quotation marks are escaped.
      guard let range = text.firstRange(of: mark) else { preconditionFailure("a region without a status") }
      return (
        String(text[..<range.lowerBound]) + "\"status\":\"", String(text[range.upperBound...].dropLast())
      )
    }
  }

  /// The JSON of a `Library`.
  func document(_ entries: [LibraryEntry]) -> [UInt8] {
    var text = "{\"regions\":["
    text.reserveCapacity(entries.count * 200)
    for (position, entry) in entries.enumerated() {
      if position > 0 { text += "," }
      let part = parts[entry.region]
      text += part.head
      text += entry.status.rawValue
      text += part.tail
      if let edition = entry.installedEdition {
        text += ",\"installedEdition\":"
        text += String(decoding: (try? WireJSON.encode(edition)) ?? [], as: UTF8.self)
      }
      if let bytes = entry.patchBytes { text += ",\"patchBytes\":\(bytes)" }
      text += "}"
    }
    return Array((text + "]}").utf8)
  }
}
