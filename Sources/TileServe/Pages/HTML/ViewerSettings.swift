import Support
import TileIndex

/// What the viewer's scripts are told, as JSON in the page.
enum ViewerSettings {
  /// How a grid's coordinates relate to longitude and latitude; the scripts choose their coordinate system by it.
  private enum GridKind: String { case webMercator, geographic, flat }

  static func json(_ info: TilesetInfo, others: [TilesetInfo], at address: ServiceAddress) -> JSONValue {
    let center = info.shownCenter
    let middle =
      info.flatImage.map { SIMD2(Double($0.width) / 2, Double(-$0.height) / 2) }
      ?? SIMD2(center.longitude, center.latitude)
    var members = layer(info, at: address)
    members += [
      .init("center", .numbers(middle.x, middle.y, Double(center.zoom))),
      .init("grid", grid(info)),
      .init("size", .string(info.sizeText)),
      .init("backgrounds", .array(backgrounds(for: info, among: others).map { .object(layer($0, at: address)) })),
    ]
    if info.hasPlaces { members.append(.init("places", .string(address.path(ServicePaths.places(info.id))))) }
    if !info.isRaster {
      members.append(.init("layers", .array(VectorLayers.names(of: info).map { .string($0) })))
    }
    return .object(members)
  }

  /// Raster tilesets of the same grid that share ground with this one, at most 100.
  private static func backgrounds(for info: TilesetInfo, among others: [TilesetInfo]) -> [TilesetInfo] {
    guard info.flatImage == nil else { return [] }
    let box = info.shownBounds
    let fitting = others.lazy.filter { other in
      other.id != info.id && other.isRaster && other.flatImage == nil && other.matrixSet == info.matrixSet
        && (other.shownBounds.intersection(box).map { $0.width > 0 && $0.height > 0 } ?? false)
    }
    return Array(fitting.prefix(100))
  }

  private static func layer(_ info: TilesetInfo, at address: ServiceAddress) -> [JSONValue.Member] {
    // A flat image has pixels to the right and up from its top left corner, where a map has degrees.
    let bounds =
      info.flatImage.map { BoundingBox(west: 0, south: Double(-$0.height), east: Double($0.width), north: 0) }
      ?? info.shownBounds
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

  private static func grid(_ info: TilesetInfo) -> JSONValue {
    let set = info.matrixSet
    let flatImage = info.flatImage
    let kind: GridKind =
      if flatImage != nil { .flat } else if set.projection == .webMercator { .webMercator } else { .geographic }
    // A unit of a flat image is one of its pixels.
    let unit = flatImage.map { set[$0.zoom].cellSize } ?? 1
    let origin = flatImage == nil ? set[0].origin : SIMD2(0, 0)
    return .object([
      .init("kind", .string(kind.rawValue)),
      .init("isWellKnown", .bool(flatImage == nil && TileMatrixSet.wellKnown.contains(set))),
      .init("name", .string(set.identifier)),
      .init("origin", .numbers(origin.x, origin.y)),
      .init(
        "levels",
        .array(
          set.matrices.map { matrix in
            .object([
              .init("cellSize", .number(matrix.cellSize / unit)),
              .init("tile", .numbers(Double(matrix.tileWidth), Double(matrix.tileHeight))),
              .init("matrix", .numbers(Double(matrix.matrixWidth), Double(matrix.matrixHeight))),
            ])
          })),
    ])
  }
}
