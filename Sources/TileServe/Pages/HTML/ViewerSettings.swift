import TileIndex

/// What the viewer's scripts are told, as JSON in the page.
enum ViewerSettings {
  /// How a grid's coordinates relate to longitude and latitude; the scripts choose their coordinate system by it.
  private enum GridKind: String { case webMercator, geographic, flat }

  static func json(_ info: TilesetInfo, others: [TilesetInfo], at address: ServiceAddress) -> JSONValue {
    let center = info.shownCenter
    var members = layer(info, at: address)
    members += [
      .init("center", .numbers(center.longitude, center.latitude, Double(center.zoom))),
      .init("grid", grid(info.matrixSet)),
      .init("size", .string(GroundSize.text(info.shownBounds))),
      .init("backgrounds", .array(backgrounds(for: info, among: others).map { .object(layer($0, at: address)) })),
    ]
    if !info.isRaster {
      members.append(.init("layers", .array(VectorLayers.names(of: info).map { .string($0) })))
    }
    return .object(members)
  }

  /// Raster tilesets of the same grid that share ground with this one, at most 100.
  private static func backgrounds(for info: TilesetInfo, among others: [TilesetInfo]) -> [TilesetInfo] {
    let box = info.shownBounds
    let fitting = others.lazy.filter { other in
      other.id != info.id && other.isRaster && other.matrixSet == info.matrixSet
        && (other.shownBounds.intersection(box).map { $0.width > 0 && $0.height > 0 } ?? false)
    }
    return Array(fitting.prefix(100))
  }

  private static func layer(_ info: TilesetInfo, at address: ServiceAddress) -> [JSONValue.Member] {
    let bounds = info.shownBounds
    return [
      .init("id", .string(info.id)),
      .init("name", .string(info.name)),
      .init("tiles", .string(address.path(info.tileTemplate))),
      .init("minzoom", .number(info.zooms.lowerBound)),
      .init("maxzoom", .number(info.zooms.upperBound)),
      .init("bounds", .numbers(bounds.west, bounds.south, bounds.east, bounds.north)),
      // Already safe: the libraries put it into the page as HTML.
      .init("credits", .string(Credits(html: info.metadata.attribution ?? "").html)),
    ]
  }

  private static func grid(_ set: TileMatrixSet) -> JSONValue {
    // Written so that a projection that is neither is a plain grid of pixels.
    let kind: GridKind =
      if set.projection == .webMercator { .webMercator } else if set.projection == .geographic { .geographic } else {
        .flat
      }
    return .object([
      .init("kind", .string(kind.rawValue)),
      .init("isWellKnown", .bool(TileMatrixSet.wellKnown.contains(set))),
      .init("name", .string(set.identifier)),
      .init("origin", .numbers(set[0].origin.x, set[0].origin.y)),
      .init(
        "levels",
        .array(
          set.matrices.map { matrix in
            .object([
              .init("cellSize", .number(matrix.cellSize)),
              .init("tile", .numbers(Double(matrix.tileWidth), Double(matrix.tileHeight))),
              .init("matrix", .numbers(Double(matrix.matrixWidth), Double(matrix.matrixHeight))),
            ])
          })),
    ])
  }
}
