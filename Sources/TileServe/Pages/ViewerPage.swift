package import ServerSupport
import Support
import TileIndex

/// The page of one tileset: a map over the whole window.
package enum ViewerPage {
  /// The page's HTML in UTF-8.
  ///
  /// - Parameter others: tilesets that may be shown below this one; those that do not fit (another grid, vector tiles,
  ///   other bounds) are left out.
  package static func document(
    _ info: TilesetInfo, others: [TilesetInfo] = [], libraries: WebLibraries, at address: ServiceAddress
  ) -> [UInt8] {
    let isDrawable = info.isRaster || info.matrixSet == .webMercatorQuad
    let library = info.isRaster ? libraries.leaflet : libraries.maplibre
    guard isDrawable, library != nil else { return notice(info, isDrawable: isDrawable, at: address) }
    let engine = info.isRaster ? "leaflet" : "maplibre-gl"
    var assets = ["\(engine)/\(engine).css", "style.css", "viewer.css", "\(engine)/\(engine).js", "viewer-shared.js"]
    if info.isRaster, info.flatImage == nil, case .fitted = info.matrixSet.projection {
      assets.append("viewer-fitted.js")
    }
    assets += info.isRaster ? ["viewer-grid.js", "viewer-leaflet.js"] : ["viewer-maplibre.js"]
    if info.hasPlaces { assets.append("viewer-search.js") }
    assets.append("viewer-track.js")
    let settings = ViewerSettings.json(info, others: others, at: address).text(insideMarkup: true)
    let body = """
      \(bar(info, at: address))
      <main id="map" aria-label="Map of \(Markup.escaped(info.name))"></main>
      <aside class="panel" id="panel" hidden></aside>
      <output class="readout" id="readout"></output>
      <noscript><p class="notice">The map needs JavaScript.</p></noscript>
      <script type="application/json" id="settings">\(settings)</script>
      """
    return HTMLPage.document(title: info.name, bodyClass: "viewer", assets: assets, at: address, body: body)
  }

  private static func bar(_ info: TilesetInfo, at address: ServiceAddress) -> String {
    func path(_ path: String) -> String { Markup.escaped(address.path(path)) }
    return """
      <header class="bar">
      <a class="back" href="\(path(ServicePaths.index))" title="All tilesets" aria-label="All tilesets">‹</a>
      <h1 title="\(Markup.escaped(info.id))">\(Markup.escaped(info.name))</h1>
      <div class="tools" id="tools"><a class="tool" href="\(path(ServicePaths.tileJSON(info.id)))">TileJSON</a></div>
      </header>
      """
  }

  /// The message in place of a map.
  private static func notice(_ info: TilesetInfo, isDrawable: Bool, at address: ServiceAddress) -> [UInt8] {
    let words =
      if !isDrawable {
        """
        <p>These vector tiles lie on the grid <b>\(Markup.escaped(info.matrixSet.identifier))</b>. MapLibre GL draws \
        WebMercatorQuad only, \
        so there is no map here; the tiles are served all the same.</p>
        """
      } else {
        info.isRaster ? MissingLibrary.leaflet : MissingLibrary.maplibre
      }
    let body = """
      \(bar(info, at: address))
      <main class="instead"><div class="notice">\(words)</div></main>
      """
    return HTMLPage.document(
      title: info.name, bodyClass: "viewer without", assets: ["style.css", "viewer.css"], at: address, body: body)
  }
}

/// The settings of the viewer's scripts, as JSON in the page.
enum ViewerSettings {
  /// The projection of a grid; the scripts choose their coordinate system by it.
  private enum GridKind: String { case webMercator, geographic, fitted, flat }

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

  /// Raster tilesets of the same grid that intersect this one, at most 100.
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
    // The coordinates of a flat image are pixels to the right and up from its top left corner.
    let bounds =
      info.flatImage.map { BoundingBox(west: 0, south: Double(-$0.height), east: Double($0.width), north: 0) }
      ?? info.shownBounds
    var members: [JSONValue.Member] = [
      .init("id", .string(info.id)),
      .init("name", .string(info.name)),
      .init("tiles", .string(address.path(info.tileTemplate))),
      .init("minzoom", .number(info.zooms.lowerBound)),
      .init("maxzoom", .number(info.zooms.upperBound)),
      .init("bounds", .numbers(bounds.west, bounds.south, bounds.east, bounds.north)),
      // Already sanitised: the libraries put it into the page as HTML.
      .init("credits", .string(Credits(html: info.metadata.attribution ?? "").html)),
    ]
    if info.flatImage == nil, case .fitted = info.matrixSet.projection {
      let box = info.matrixSet.crsBounds(ofGeographicBounds: bounds)
      members.append(.init("box", .numbers(box.west, box.south, box.east, box.north)))
    }
    return members
  }

  private static func grid(_ info: TilesetInfo) -> JSONValue {
    let set = info.matrixSet
    let flatImage = info.flatImage
    let kind: GridKind =
      if flatImage != nil {
        .flat
      } else {
        switch set.projection {
        case .webMercator: .webMercator
        case .geographic: .geographic
        case .fitted: .fitted
        }
      }
    // A unit of a flat image is one of its pixels.
    let unit = flatImage.map { set[$0.zoom].cellSize } ?? 1
    let origin = flatImage == nil ? set[0].origin : SIMD2(0, 0)
    var members: [JSONValue.Member] = [
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
    ]
    if kind == .fitted, let fit = set.definition?["toWGS84"] { members.append(.init("fit", fit)) }
    return .object(members)
  }
}
