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
  /// The covered area in degrees.
  public var bounds: BoundingBox
  /// The position and zoom to open with.
  public var center: BundleMetadata.Center
  /// The pixels along the edge of a tile: 256 unless the first tile says otherwise.
  public var tilePixels: Int
  /// The name of the grid, such as `WebMercatorQuad`.
  public var grid: String
  /// All metadata as they are stored, by the names of MBTiles.
  public var values: [String: String]

  /// - Throws: `BundleError`; `.malformed` for a bundle without tiles.
  init(_ bundle: any BundleReader) throws {
    let (stored, grid) = (bundle.metadata, bundle.matrixSet)
    let zooms = try bundle.zooms()
    guard let first = zooms.first, let last = zooms.last, let range = try bundle.range(zoom: last) else {
      throw BundleError(
        .malformed, path: bundle.path, "has no tiles", remedy: "wait until it is complete, or install it again")
    }
    name = stored.name.flatMap { $0.isEmpty ? nil : $0 } ?? bundle.fileStem
    description = stored.description
    attribution = stored.attribution
    version = stored.version
    type = stored.type ?? .baselayer
    format = try bundle.tileFormat()
    self.zooms = first...last
    bounds = stored.bounds ?? grid.geographicBounds(of: range)
    let middle = bounds.centre
    center = stored.center ?? BundleMetadata.Center(longitude: middle.x, latitude: middle.y, zoom: first)
    tilePixels = try bundle.tilePixels() ?? grid[first].tileWidth
    self.grid = grid.identifier
    values = stored.values
  }
}
