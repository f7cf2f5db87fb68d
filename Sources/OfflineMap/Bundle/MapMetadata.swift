public import TileIndex

/// What a map view needs to know of a bundle. Missing metadata are derived from the tiles, so nothing here is a guess
/// of the app's.
public struct MapMetadata: Codable, Hashable, Sendable {
  /// The title; the name of the file for a bundle without one.
  public var name: String
  /// What the map shows, for people.
  public var description: String?
  /// Credits that a map view must show; may contain HTML.
  public var attribution: String?
  /// The revision of this tileset, a number.
  public var version: String?
  /// Drawn over another map, or alone.
  public var type: BundleMetadata.Kind
  /// The format of the tiles; nil when it is not a known one.
  public var format: TileFormat?
  /// The zooms from the coarsest that has tiles to the finest.
  public var zooms: ClosedRange<Int>
  /// The covered area in degrees, west below east; across the antimeridian the east is beyond 180.
  public var bounds: BoundingBox
  /// The position and zoom to open with, at a longitude within ±180 and a zoom that has tiles; spelled as in TileJSON.
  public var center: BundleMetadata.Center
  /// The pixels along the edge of a tile: 256 unless the first tile says otherwise.
  public var tilePixels: Int
  /// The name of the grid, such as `WebMercatorQuad`.
  public var grid: String
  /// All metadata as they are stored, by the names of MBTiles.
  public var values: [String: String]

  /// - Parameters:
  ///   - zooms: those that have tiles, ascending; not empty.
  ///   - finest: the rectangle around the tiles of the last zoom.
  /// - Throws: `BundleError`.
  init(_ bundle: any BundleReader, zooms: [Int], finest: TileRange) throws {
    let (stored, grid) = (bundle.metadata, bundle.matrixSet)
    name = stored.name.flatMap { $0.isEmpty ? nil : $0 } ?? bundle.fileStem
    description = stored.description
    attribution = stored.attribution
    version = stored.version
    type = stored.type ?? .baselayer
    let tile = try bundle.tileFormatAndPixels()
    format = tile.format
    self.zooms = zooms[0]...zooms[zooms.count - 1]
    (bounds, center) = stored.location(zooms: zooms, finest: finest, in: grid)
    tilePixels = tile.pixels ?? grid[zooms[0]].tileWidth
    self.grid = grid.identifier
    values = stored.values
  }
}
