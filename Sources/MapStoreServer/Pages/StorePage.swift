import MapStoreWire
import RegionCatalog
import Support
import TileIndex

/// The web page of the catalogue: a map of the covered areas, and a list of the regions.
enum StorePage {
  /// Nothing inline, nothing from other hosts.
  static let contentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    + "base-uri 'none'; form-action 'self'; frame-ancestors 'self'"

  /// The page's HTML in UTF-8.
  static func document(_ page: CatalogPage, query: CatalogSearch, hasMap: Bool) -> [UInt8] {
    let library = hasMap ? ["leaflet.css", "leaflet.js"] : []
    let assets = (library + ["store.css", "store.js"]).map { name in
      let path = Markup.escaped(StoreRoute.asset.path(name))
      return name.hasSuffix(".css")
        ? "<link rel=\"stylesheet\" href=\"\(path)\">" : "<script src=\"\(path)\" defer></script>"
    }
    return Array(
      """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>Maps</title>
      <link rel="icon" href="data:,">
      \(assets.joined(separator: "\n"))
      </head>
      <body>
      <header>
      <h1><a href="/catalogue">Maps</a></h1>
      <form action="/catalogue" role="search">
      <input type="search" name="q" value="\(Markup.escaped(query.text))" placeholder="Search regions and places" \
      aria-label="Search regions and places">
      <select name="category" aria-label="Category"><option value="">All categories</option>\
      \(page.categories.map { option($0, query.category) }.joined())</select>
      <button>Search</button>
      </form>
      </header>
      \(hasMap ? "<div id=\"map\" aria-label=\"Map of what the regions cover\"></div>" : noMap)
      <main>
      <p class="count">\(page.total == 1 ? "1 region" : "\(page.total) regions")</p>
      <ul class="regions">
      \(page.regions.map(card).joined(separator: "\n"))
      </ul>
      \(page.nextCursor.map { more(query.query(after: $0)) } ?? "")
      </main>
      <script type="application/json" id="regions">\(shapes(page.regions))</script>
      </body>
      </html>

      """.utf8)
  }

  private static let noMap = """
    <div class="notice"><p>The map of what is covered needs <b>Leaflet</b>, which is not installed here. Install it \
    and start the store again:</p>
    <pre>apt-get install libjs-leaflet</pre></div>
    """

  private static func option(_ count: CategoryCount, _ chosen: String?) -> String {
    let name = Markup.escaped(count.category)
    return "<option value=\"\(name)\"\(count.category == chosen ? " selected" : "")>\(name) (\(count.regions))</option>"
  }

  private static func card(_ region: RegionListing) -> String {
    let picture =
      region.preview.map {
        "<img src=\"\(Markup.escaped($0))\" alt=\"\" loading=\"lazy\" decoding=\"async\">"
      } ?? ""
    var facts = [region.category, size(region.bytes), "zooms \(region.minzoom)–\(region.maxzoom)", region.edition]
    if region.packs > 0 { facts.append(region.packs == 1 ? "1 pack" : "\(region.packs) packs") }
    if let tier = region.priceTier { facts.append(tier) }
    return """
      <li id="region-\(Markup.escaped(region.id))" data-region="\(Markup.escaped(region.id))">\(picture)<div>
      <h2>\(Markup.escaped(region.title))</h2>
      \(region.description.map { "<p>\(Markup.escaped($0))</p>" } ?? "")
      \(region.places.map { "<p class=\"places\">Has \(Markup.escaped(names($0)))</p>" } ?? "")
      \(region.attribution.map { "<p class=\"attribution\">\(Markup.escaped($0))</p>" } ?? "")
      <p class="facts">\(facts.map { "<span>\(Markup.escaped($0))</span>" }.joined())</p>
      </div></li>
      """
  }

  private static func names(_ places: [FoundPlace]) -> String {
    places.map { $0.kind.isEmpty ? $0.name : "\($0.name) (\($0.kind))" }.joined(separator: ", ")
  }

  private static func more(_ query: String) -> String {
    "<p class=\"more\"><a href=\"/catalogue?\(Markup.escaped(query))\">More regions</a></p>"
  }

  /// The data for `store.js`.
  private static func shapes(_ regions: [RegionListing]) -> String {
    let shapes = regions.map {
      Shape(
        id: $0.id, title: $0.title, bounds: $0.bounds, boundary: $0.boundary, preview: $0.preview,
        previewBounds: $0.previewBounds)
    }
    let text = String(decoding: (try? WireJSON.encode(shapes)) ?? [], as: UTF8.self)
    // A `<` could end the element early.
    return text.replacing("<", with: "\\u003c")
  }

  private struct Shape: Encodable {
    let id: String
    let title: String
    let bounds: [Double]
    let boundary: RegionBoundary?
    let preview: String?
    let previewBounds: [Double]?
  }

  private static func size(_ bytes: Int) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")]
    guard let (unit, name) = units.first(where: { bytes >= $0.0 }) else { return "\(bytes) B" }
    let tenths = (bytes * 10 + unit / 2) / unit
    return tenths < 100 ? "\(tenths / 10).\(tenths % 10) \(name)" : "\((tenths + 5) / 10) \(name)"
  }
}

/// Leaflet, served from where it is installed on this machine; it is not part of this package.
struct WebLibrary: Sendable {
  /// The folder with `leaflet.js`, `leaflet.css` and `images`, or nil.
  let leaflet: String?

  /// Looks in the folders and in their subfolders `leaflet`; takes the first complete one.
  init(folders: [String]) {
    leaflet = folders.flatMap { [$0, "\($0)/leaflet"] }.first { folder in
      ["leaflet.js", "leaflet.css"].allSatisfy { FileSystem.kind("\(folder)/\($0)") == .file }
    }
  }

  /// Nil for names outside a fixed list, so that none leads out of the folder.
  func path(of asset: String) -> String? {
    guard let leaflet, ["leaflet.js", "leaflet.css"].contains(asset) else { return nil }
    return "\(leaflet)/\(asset)"
  }
}
