package import ServerSupport
import Support
import TileIndex

/// The page at `/`: every tileset with a preview, its properties and links, and a search box.
package enum IndexPage {
  /// The page's HTML in UTF-8. About 1.5 kB for each tileset; previews load when they are scrolled to.
  package static func document(
    _ infos: [TilesetInfo], failures: [(id: String, reason: String)], libraries: WebLibraries,
    at address: ServiceAddress
  ) -> [UInt8] {
    let cards = infos.map { card($0, at: address) }.joined(separator: "\n")
    let body = """
      <header class="top">
      <h1>Tilesets <span class="count" id="count">\(infos.count)</span></h1>
      \(infos.count > 1 ? search : "")
      <nav>\(link("tilesets.json", ServicePaths.tilesets, address)) \
      \(link("WMTS", ServicePaths.wmtsCapabilities, address)) \(link("TMS", ServicePaths.tms, address))</nav>
      </header>
      <main>
      \(missingLibraries(infos, libraries))\(unavailable(failures))\(infos.isEmpty ? empty : "")
      <ul class="cards" id="cards">
      \(cards)
      </ul>
      <p class="nothing" id="nothing" hidden>No tileset has all of these words.</p>
      </main>
      """
    return HTMLPage.document(
      title: "Tilesets", bodyClass: "index", assets: ["style.css", "index.js"], at: address, body: body)
  }

  private static let search = """
    <input id="search" type="search" placeholder="Search names, formats, grids" aria-label="Search tilesets" \
    autocomplete="off" spellcheck="false">
    """

  private static let empty = """
    <p class="nothing">There is no tileset here yet. Bundles put into the served folder appear when this page is \
    loaded again.</p>

    """

  private static func link(_ words: String, _ path: String, _ address: ServiceAddress) -> String {
    "<a href=\"\(Markup.escaped(address.path(path)))\">\(words)</a>"
  }

  private static func card(_ info: TilesetInfo, at address: ServiceAddress) -> String {
    let zooms = info.zooms
    let levels =
      zooms.count == 1 ? "zoom \(zooms.lowerBound)" : "zooms \(zooms.lowerBound)–\(zooms.upperBound)"
    var facts = [levels, info.format.rawValue.uppercased(), info.sizeText]
    if info.pixelDensity > 1 { facts.insert("\(info.tilePixels) px", at: 2) }
    if info.matrixSet != .webMercatorQuad { facts.append(info.matrixSet.identifier) }
    let description = info.metadata.description.map { "<p class=\"about\">\(Markup.escaped(clipped($0)))</p>" } ?? ""
    var links = [
      link("Map", ServicePaths.viewer(info.id), address), link("TileJSON", ServicePaths.tileJSON(info.id), address),
    ]
    if info.isWMTSLayer { links.append(link("WMTS", ServicePaths.wmtsCapabilities(info.id), address)) }
    return """
      <li class="card"><a class="picture" href="\(Markup.escaped(address.path(ServicePaths.viewer(info.id))))" \
      tabindex="-1" \
      aria-hidden="true">\(picture(info, at: address))</a>
      <div class="words"><h2><a href="\(Markup.escaped(address.path(ServicePaths.viewer(info.id))))">\
      \(Markup.escaped(info.name))</a></h2>
      \(info.name == info.id ? "" : "<p class=\"id\">\(Markup.escaped(info.id))</p>")\(description)
      <p class="facts">\(facts.map { "<span>\(Markup.escaped($0))</span>" }.joined())</p>
      <p class="links">\(links.joined(separator: " "))</p></div></li>
      """
  }

  /// A tile that shows about all of the tileset; vector tiles, which a browser cannot render by itself, get a symbol.
  private static func picture(_ info: TilesetInfo, at address: ServiceAddress) -> String {
    guard info.isRaster else {
      return """
        <svg viewBox="0 0 64 64" aria-hidden="true"><path d="M8 44 24 14l14 18 8-10 10 22z"/><circle cx="24" cy="14" \
        r="3"/>\
        <circle cx="46" cy="22" r="3"/><circle cx="38" cy="32" r="3"/></svg>
        """
    }
    let tile = info.overviewTile
    let path = address.path(info.tilePath(tile.zoom, tile.column, tile.row))
    return
      "<img src=\"\(Markup.escaped(path))\" alt=\"\" loading=\"lazy\" decoding=\"async\" width=\"256\" height=\"256\">"
  }

  private static func unavailable(_ failures: [(id: String, reason: String)]) -> String {
    guard !failures.isEmpty else { return "" }
    let rows = failures.map { failure in
      "<li><b>\(Markup.escaped(failure.id))</b> \(Markup.escaped(failure.reason))</li>"
    }
    return """
      <details class="notice"><summary>\(failures.count) not available</summary><ul>\(rows.joined())</ul></details>

      """
  }

  private static func missingLibraries(_ infos: [TilesetInfo], _ libraries: WebLibraries) -> String {
    let missing = [
      infos.contains(where: \.isRaster) && libraries.leaflet == nil ? MissingLibrary.leaflet : nil,
      infos.contains { !$0.isRaster } && libraries.maplibre == nil ? MissingLibrary.maplibre : nil,
    ].compactMap(\.self)
    return missing.map { "<div class=\"notice\">\($0)</div>\n" }.joined()
  }

  /// Descriptions may be long; a card shows their beginning.
  private static func clipped(_ text: String) -> String {
    let plain = Credits(html: text).plainText
    return plain.count > 200 ? plain.prefix(199) + "…" : plain
  }
}
