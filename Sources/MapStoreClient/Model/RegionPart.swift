import RegionCatalog
import TileIndex

/// The contents of one installed file: a whole region, or one of its tile packs.
public struct RegionPart: Hashable, Sendable, Codable, CustomStringConvertible {
  /// The region's id.
  public let region: String
  /// The tile pack's file name in the catalogue; nil for the whole region.
  public let pack: String?

  /// A part by its names; nothing is looked up.
  public init(region: String, pack: String? = nil) { (self.region, self.pack) = (region, pack) }

  /// The region's id, with the file name of a tile pack in brackets.
  public var description: String { pack.map { "\(region) (\($0))" } ?? region }

  /// The file's name in the folder of regions.
  var fileName: String { pack ?? "\(region).mbtiles" }

  /// Whether the names are safe as file names: those from apps, and from the state file, are not checked elsewhere.
  var isSafe: Bool {
    RegionNames.isName(region)
      && pack.map { RegionNames.isName($0, bytesMax: 200) && $0.hasSuffix(".mbtiles") } ?? true
  }
}
