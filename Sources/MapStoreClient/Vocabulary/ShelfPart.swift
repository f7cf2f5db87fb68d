/// What one file of the shelf holds: a whole region, or one of its parcels.
public struct ShelfPart: Hashable, Sendable, Codable, CustomStringConvertible {
  public let region: String
  /// The parcel's file, as the catalogue names it; nil for the whole region.
  public let parcel: String?

  public init(region: String, parcel: String? = nil) { (self.region, self.parcel) = (region, parcel) }

  public var description: String { parcel.map { "\(region) (\($0))" } ?? region }

  /// Where it lies in the shelf's folder.
  var fileName: String { parcel ?? "\(region).mbtiles" }

  /// Names come from the server and become names of files.
  ///
  /// - Throws: ``MapStoreError`` `.damaged` for one that could lie outside of the folder or hide in it.
  func check() throws {
    for name in [region, parcel ?? "a"] {
      let isSafe =
        !name.isEmpty && name.utf8.count <= 200 && !name.hasPrefix(".")
        && !name.utf8.contains { $0 == 0x2f || $0 < 0x20 }
      guard isSafe else {
        throw MapStoreError(.damaged, region, "the server gives it a name that no file may have: \"\(name)\"")
      }
    }
  }
}
