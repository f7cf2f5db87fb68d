import Support
import TileIndex

/// The page of one tileset: a map over the whole window.
package enum ViewerPage {
  /// The page's HTML in UTF-8.
  ///
  /// - Parameter others: tilesets that may be drawn below this one; those that do not fit (another grid, vector tiles, elsewhere) are left out.
  package static func document(
    _ info: TilesetInfo, others: [TilesetInfo] = [], libraries: WebLibraries, at address: ServiceAddress
  ) -> [UInt8] {
    let isDrawable = info.isRaster || info.matrixSet == .webMercatorQuad
    let library = info.isRaster ? libraries.leaflet : libraries.maplibre
    guard isDrawable, library != nil else { return notice(info, isDrawable: isDrawable, at: address) }
    let engine = info.isRaster ? "leaflet" : "maplibre-gl"
    var assets = ["\(engine)/\(engine).css", "style.css", "viewer.css", "\(engine)/\(engine).js", "viewer-shared.js"]
    assets += info.isRaster ? ["viewer-grid.js", "viewer-leaflet.js"] : ["viewer-maplibre.js"]
    if info.hasPlaces { assets.append("viewer-search.js") }
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
      <div class="tools" id="tools"></div>
      <a class="tool" href="\(path(ServicePaths.tileJSON(info.id)))">TileJSON</a>
      </header>
      """
  }

  /// What stands there instead of a map.
  private static func notice(_ info: TilesetInfo, isDrawable: Bool, at address: ServiceAddress) -> [UInt8] {
    let words =
      if !isDrawable {
        """
        <p>These vector tiles lie on the grid <b>\(Markup.escaped(info.matrixSet.identifier))</b>. MapLibre GL draws WebMercatorQuad only, \
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
