import RegionCatalog
import TileIndex

/// What one file of the shelf holds: a whole region, or one of its parcels.
public struct ShelfPart: Hashable, Sendable, Codable, CustomStringConvertible {
  public let region: String
  /// The parcel's file, as the catalogue names it; nil for the whole region.
  public let parcel: String?

  public init(region: String, parcel: String? = nil) { (self.region, self.parcel) = (region, parcel) }

  public var description: String { parcel.map { "\(region) (\($0))" } ?? region }

  /// Where it lies in the shelf's folder.
  var fileName: String { parcel ?? "\(region).mbtiles" }

  /// Whether its names may be those of files: what apps ask for, and what an older version of this software has noted, was not looked at before.
  var isSafe: Bool {
    RegionManifest.isName(region)
      && parcel.map { RegionManifest.isName($0, bytesMax: 200) && $0.hasSuffix(".mbtiles") } ?? true
  }
}
