import MapStoreWire
import RegionCatalog
import Support
import TileIndex

/// The page of one region: a preview, what it has, what it costs, and where to get it.
struct RegionPage {
  let frame: PageFrame
  let snapshot: CatalogSnapshot
  let index: Int
  /// The most important places on the map.
  let places: [FoundPlace]
  /// Whether this machine has Leaflet; without it the preview is a picture.
  let hasMap: Bool

  private var region: Catalog.Region { snapshot.regions[index] }
  private var listing: RegionListing { snapshot.listings[index] }
  private var language: PageLanguage { frame.language }
  private var path: String { StoreRoute.regionPage.path(region.id) }
  private var product: ProductList.Product? { snapshot.list?[region.productId] }

  /// The page's HTML in UTF-8.
  func document() -> [UInt8] {
    let hasTiles = hasMap && tiles != nil
    return frame.document(
      title: "\(region.title) – \(frame.shopName)", path: path, head: head,
      scripts: hasTiles ? ["leaflet.js", "region.js"] : [], styles: hasTiles ? ["leaflet.css"] : [],
      isIndexed: snapshot.isForSale[index],
      main: """
        <article class="region">
        <nav class="crumbs"><a href="\(frame.link("/catalogue"))">\(Markup.escaped(frame.shopName))</a> › \
        <a href="\(frame.link("/catalogue", "category=\(PercentEncoding.encode(region.category))"))">\
        \(Markup.escaped(region.category))</a></nav>
        <h1>\(Markup.escaped(region.title))</h1>
        \(region.description.map { "<p class=\"about\">\(Markup.escaped($0))</p>" } ?? "")
        <div class="columns">
        <div>
        \(preview)
        \(CreditLine.html(region.attribution, "credits"))
        </div>
        <div>
        \(offer)
        \(facts)
        </div>
        </div>
        \(placesSection)\(partsSection)\(relatedSection)
        </article>
        """)
  }

  // MARK: For machines

  private var head: String {
    guard let url = frame.publicURL.map(Markup.escaped) else {
      return "<script type=\"application/ld+json\">\(data)</script>"
    }
    let picture = region.preview.map { _ in "\(url)\(Markup.escaped(StoreRoute.preview.path(region.id)))" }
    let alternates =
      frame.front.languages.count < 2
      ? []
      : frame.front.languages.map {
        "<link rel=\"alternate\" hreflang=\"\($0.tag)\" href=\"\(url)\(Markup.escaped(path))?lang=\($0.tag)\">"
      }
    let description = region.description ?? region.title
    return """
      <link rel="canonical" href="\(url)\(Markup.escaped(path))">
      \(alternates.joined(separator: "\n"))
      <meta name="description" content="\(Markup.escaped(description))">
      <meta property="og:type" content="product">
      <meta property="og:site_name" content="\(Markup.escaped(frame.shopName))">
      <meta property="og:title" content="\(Markup.escaped(region.title))">
      <meta property="og:description" content="\(Markup.escaped(description))">
      <meta property="og:url" content="\(url)\(Markup.escaped(path))">
      \(picture.map { "<meta property=\"og:image\" content=\"\($0)\">" } ?? "")
      <meta name="twitter:card" content="summary_large_image">
      <script type="application/ld+json">\(data)</script>
      """
  }

  /// A Product of schema.org. Data, not a script: the content security policy leaves it alone.
  private var data: String {
    let base = frame.publicURL ?? ""
    var members: [JSONValue.Member] = [
      .init("@context", .string("https://schema.org")), .init("@type", .string("Product")),
      .init("name", .string(region.title)), .init("sku", .string(region.productId)),
      .init("category", .string(region.category)), .init("version", .string(region.edition)),
    ]
    if let text = region.description { members.append(.init("description", .string(text))) }
    if region.preview != nil {
      members.append(.init("image", .string(base + StoreRoute.preview.path(region.id))))
    }
    let price =
      snapshot.isFree[index]
      ? ListedPrice(amount: "0", currency: product?.price?.currency ?? "USD", taxNote: nil)
      : product?.price(in: frame.country)
    if let price {
      let state = snapshot.isForSale[index] ? "InStock" : "Discontinued"
      members.append(
        .init(
          "offers",
          .object([
            .init("@type", .string("Offer")), .init("price", .string(price.amount)),
            .init("priceCurrency", .string(price.currency)),
            .init("availability", .string("https://schema.org/\(state)")), .init("url", .string(base + path)),
          ])))
    }
    // A `<` could end the element early.
    return String(decoding: JSONValue.object(members).bytes, as: UTF8.self).replacing("<", with: "\\u003c")
  }

  // MARK: The preview

  private var tiles: PreviewTiles? { PreviewTiles(of: region) }

  private var preview: String {
    let label = frame.text(.preview, ["title": region.title])
    let picture = region.preview.map { _ in
      "<img src=\"\(Markup.escaped(StoreRoute.preview.path(region.id)))\" alt=\"\(label)\" decoding=\"async\">"
    }
    var settings = ""
    if hasMap, let tiles {
      let pattern = "\(StoreRoute.preview.path(region.id))/{z}/{x}/{y}?v=\(region.sha256.prefix(10))"
      settings =
        " data-tiles=\"\(Markup.escaped(pattern))\" data-zooms=\"\(tiles.zooms.lowerBound),\(tiles.zooms.upperBound)\""
        + " data-bounds=\"\(Self.text(region.bounds))\" data-label=\"\(label)\""
        + (region.previewBounds.map { " data-picture=\"\(Self.text($0))\"" } ?? "")
    }
    guard picture != nil || !settings.isEmpty else { return "" }
    return """
      <figure class="preview"><div id="preview"\(settings)>\(picture ?? "")</div>\
      <figcaption>\(frame.text(.previewNote, ["deepest": "\(region.maxzoom)"]))</figcaption></figure>
      """
  }

  private static func text(_ box: [Double]) -> String { box.map { "\($0)" }.joined(separator: ",") }

  // MARK: The offer

  private var offer: String {
    let options = frame.front.options
    let links: [(PageText, String?, String)] = [
      (.checkout, snapshot.isFree[index] ? nil : options.checkout, "main"), (.openInApp, options.openInApp, "app"),
      (.appStore, options.appStore, "store"), (.googlePlay, options.googlePlay, "store"),
    ]
    let buttons = links.compactMap { text, pattern, kind in
      frame.address(pattern, region.id, region.productId).map {
        "<a class=\"button \(kind)\" href=\"\($0)\" rel=\"nofollow\">\(frame.text(text))</a>"
      }
    }
    let others = (product?.countries ?? [:]).sorted { $0.key < $1.key }.filter { $0.key != frame.country }
    let countries =
      others.isEmpty || snapshot.isFree[index]
      ? ""
      : """
      <details><summary>\(frame.text(.otherCountries))</summary><ul>\
      \(others.map { "<li>\($0.key): \(frame.html($0.value))</li>" }.joined())</ul></details>
      """
    return """
      <section class="offer" aria-labelledby="get"><h2 id="get">\(frame.text(.get))</h2>
      <p class="price">\(frame.price(of: listing, product))</p>
      \(buttons.isEmpty ? "<p>\(frame.text(.inTheApp))</p>" : "<p class=\"buttons\">\(buttons.joined())</p>")
      \(countries)\(bundles)</section>
      """
  }

  private var bundles: String {
    let bundles = snapshot.bundles(with: index)
    guard !bundles.isEmpty else { return "" }
    let items = bundles.map { bundle in
      let count = snapshot.indices(ofProduct: bundle.id).count
      let price = bundle.price(in: frame.country).map { ": \(frame.html($0))" } ?? ""
      let name = Markup.escaped(bundle.title ?? bundle.id)
      let title = frame.address(frame.front.options.checkout, region.id, bundle.id).map {
        "<a href=\"\($0)\">\(name)</a>"
      }
      return "<li>\(title ?? name) (\(frame.text(.bundle, ["count": "\(count)"])))\(price)</li>"
    }
    return "<h3>\(frame.text(.bundles))</h3><ul class=\"bundles\">\(items.joined())</ul>"
  }

  // MARK: Facts

  private var facts: String {
    var rows: [(PageText, String)] = [
      (.size, Markup.escaped(language.size(region.bytes))), (.zoomLevels, "\(region.minzoom)–\(region.maxzoom)"),
    ]
    if let area = squareKilometres { rows.append((.area, Markup.escaped(language.area(area)))) }
    if !region.packs.isEmpty { rows.append((.parts, "\(region.packs.count)")) }
    let editions =
      [frame.text(.editionNow, ["edition": region.edition])]
      + region.patches.map {
        frame.text(.editionFrom, ["edition": $0.fromEdition, "size": language.size($0.bytes)])
      }
    let list = rows.map { "<div><dt>\(frame.text($0))</dt><dd>\($1)</dd></div>" }
    return """
      <section aria-labelledby="facts"><h2 id="facts">\(frame.text(.about))</h2><dl>\(list.joined())\
      <div><dt>\(frame.text(.editions))</dt>\(editions.map { "<dd>\($0)</dd>" }.joined())</div></dl></section>
      """
  }

  /// Of the outline, or of the box; nil for the whole world, of which it would say nothing.
  private var squareKilometres: Double? {
    let area = snapshot.outlines[index].squareKilometres
    return area > 0 && area < 1e8 ? area : nil
  }

  private var placesSection: String {
    guard !places.isEmpty else { return "" }
    let items = places.map { place in
      let kind = place.kind.isEmpty ? "" : " <small>\(Markup.escaped(place.kind))</small>"
      return "<li>\(Markup.escaped(place.name))\(kind)</li>"
    }
    return """
      <section aria-labelledby="places"><h2 id="places">\(frame.text(.places))</h2><ul class="tags">\(items.joined())\
      </ul></section>
      """
  }

  private var partsSection: String {
    guard !region.packs.isEmpty else { return "" }
    let largest = region.packs.map(\.bytes).max() ?? 0
    let items = region.packs.prefix(60).map { pack in
      let name = pack.isOverview ? frame.text(.partOfOverview) : "\(pack.minzoom)–\(pack.maxzoom)"
      return "<li>\(name) <small>\(Markup.escaped(language.size(pack.bytes)))</small></li>"
    }
    return """
      <section aria-labelledby="parts"><h2 id="parts">\(frame.text(.parts))</h2><details><summary>\
      \(frame.text(.partsNote, ["count": "\(region.packs.count)", "size": language.size(largest)]))</summary>\
      <ul class="tags">\(items.joined())</ul></details></section>
      """
  }

  private var relatedSection: String {
    let others = snapshot.related(to: index, count: 4)
    guard !others.isEmpty else { return "" }
    let items = others.map { other in
      let region = snapshot.regions[other]
      return """
        <li><a href="\(frame.link(StoreRoute.regionPage.path(region.id)))">\
        \(Thumbnail.image(of: region) ?? "<span class=\"blank\"></span>")\
        <span>\(Markup.escaped(region.title))</span></a></li>
        """
    }
    return """
      <section aria-labelledby="related"><h2 id="related">\(frame.text(.related))</h2><ul class="related">\
      \(items.joined())</ul></section>
      """
  }
}
