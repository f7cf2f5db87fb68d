package import Support

/// TileJSON 3.0.0 beside the tiles of a folder. Their URL is relative to the document.
///
/// `tileSize` is MapLibre's; `scale` says how many pixels a tile has for each of the screen where that is not one.
package struct TileJSONDocument {
  /// The usual name of the file.
  package static let name = "tiles.json"
  /// The names that others give it, too.
  static let names = [name, "tilejson.json", "tile.json"]
  /// Members that tell a reader of the folder nothing.
  static let addresses: Set<String> = ["tilejson", "tiles", "grids", "data"]

  private let template: String
  private let scheme: TileScheme
  private let rows: StoredMetadata
  private let coverage: TileCoverage
  private let matrixSet: TileMatrixSet
  private let isImage: Bool
  /// Members that TileJSON does not have.
  package var extra: [JSONValue.Member] = []

  /// - Parameters:
  ///   - template: the name of a tile's file with `{z}`, `{x}` and `{y}`.
  ///   - rows: of the bundle; they go over what follows from the tiles.
  init(
    template: String, scheme: TileScheme, rows: StoredMetadata, coverage: TileCoverage, matrixSet: TileMatrixSet,
    isImage: Bool
  ) {
    (self.template, self.scheme, self.rows) = (template, scheme, rows)
    (self.coverage, self.matrixSet, self.isImage) = (coverage, matrixSet, isImage)
  }

  /// The document of other files than the bundle's own in its place.
  ///
  /// - Parameter ranges: of the zooms that have tiles.
  package init(template: String, of bundle: any BundleReader, ranges: [TileRange]) {
    var coverage = TileCoverage()
    for range in ranges { coverage.insert(zoom: range.zoom, count: range.count, range: range) }
    self.init(
      template: template, scheme: .xyz, rows: bundle.metadata, coverage: coverage, matrixSet: bundle.matrixSet,
      isImage: true)
  }

  package var bytes: [UInt8] {
    let zooms = coverage.zooms ?? 0...0
    let bounds = coverage.bounds(stated: rows, in: matrixSet)
    let center =
      rows.center
      ?? BundleMetadata.Center(longitude: bounds.centre.x, latitude: bounds.centre.y, zoom: zooms.lowerBound)
    var members: [JSONValue.Member] = [
      .init("tilejson", .string("3.0.0")), .init("tiles", .array([.string(template)])),
      .init("scheme", .string(scheme.rawValue)), .init("minzoom", .number(zooms.lowerBound)),
      .init("maxzoom", .number(zooms.upperBound)),
      .init("bounds", .numbers(bounds.west, bounds.south, bounds.east, bounds.north)),
      .init("center", .numbers(center.longitude, center.latitude, Double(center.zoom))),
    ]
    if isImage {
      members.append(.init("tileSize", .number(rows.tileSize ?? matrixSet[zooms.lowerBound].tileWidth)))
      if rows.tileScale > 1 { members.append(.init("scale", .number(rows.tileScale))) }
    }
    for name in ["name", "description", "attribution"] {
      if let value = rows[name] { members.append(.init(name, .string(value))) }
    }
    if let json = rows.json.flatMap({ try? JSONValue(parsing: Array($0.utf8), duplicates: .lastWins) }),
      let layers = json["vector_layers"]
    {
      members.append(.init("vector_layers", layers))
    }
    return JSONValue.object(members + extra).bytes
  }
}

extension TileCoverage {
  /// The bounds that the metadata state, else those of the tiles.
  func bounds(stated rows: StoredMetadata, in matrixSet: TileMatrixSet) -> BoundingBox {
    rows.bounds ?? bounds(in: matrixSet) ?? .world
  }
}
