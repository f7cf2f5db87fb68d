import MapStoreWire
import RegionCatalog
import Support
import TileIndex

/// The catalogue for people: what the regions cover, and a card for each.
struct CataloguePage {
  let frame: PageFrame
  let snapshot: CatalogSnapshot
  let query: CatalogSearch
  let page: CatalogPage

  /// The page's HTML in UTF-8.
  func document() -> [UInt8] {
    let coverage = CoverageMap(page.regions)?.svg(
      label: frame.language(.coverage), href: { frame.link(StoreRoute.regionPage.path($0.id)) },
      picture: { listing in
        let region = snapshot.index(of: listing.id).map { snapshot.regions[$0] }
        // A picture in another projection does not fit the map.
        guard let region, region.matrixSet == .webMercatorQuad else { return nil }
        return ThumbnailSize.map.path(region)
      })
    let more = page.nextCursor.map { cursor in
      "<p class=\"more\"><a href=\"\(frame.link("/catalogue", query.query(after: cursor)))\">"
        + "\(frame.text(.moreMaps))</a></p>"
    }
    return frame.document(
      title: query.text.isEmpty ? frame.shopName : "\(query.text) – \(frame.shopName)", path: "/catalogue",
      head: head, search: search, scripts: ["store.js"],
      // Search results are of no use to search engines.
      isIndexed: query.text.isEmpty && query.near == nil,
      main: """
        <h1 class="hidden">\(Markup.escaped(frame.shopName))</h1>
        \(coverage ?? "")
        <p class="count" role="status">\(Markup.escaped(
          frame.language.count(page.total, one: .oneMap, many: .maps)))</p>
        \(page.total == 0 ? wayOn : "")
        <ul class="cards">
        \(page.regions.map(card).joined(separator: "\n"))
        </ul>
        \(more ?? "")
        """)
  }

  private var head: String {
    guard let url = frame.publicURL else { return "" }
    return """
      <link rel="canonical" href="\(Markup.escaped(url))/catalogue">
      <meta property="og:type" content="website">
      <meta property="og:title" content="\(Markup.escaped(frame.shopName))">
      """
  }

  // MARK: Search

  private var search: String {
    let categories = page.categories.map { count in
      let name = Markup.escaped(count.category)
      let isChosen = count.category == query.category
      return "<option value=\"\(name)\"\(isChosen ? " selected" : "")>\(name) (\(count.regions))</option>"
    }
    let hint = frame.text(.searchHint)
    let kept =
      (query.near.map { [("near", "\($0.longitude),\($0.latitude)")] } ?? [])
      + (frame.isLanguageChosen ? [("lang", frame.language.tag)] : [])
    return """
      <form action="/catalogue" role="search">
      <input type="search" name="q" value="\(Markup.escaped(query.text))" placeholder="\(hint)" aria-label="\(hint)" \
      list="suggestions" autocomplete="off" maxlength="200">
      <datalist id="suggestions">\(suggestions)</datalist>
      <select name="category" aria-label="\(frame.text(.category))"><option value="">\(frame.text(.allCategories))\
      </option>\(categories.joined())</select>
      \(kept.map { "<input type=\"hidden\" name=\"\($0)\" value=\"\(Markup.escaped($1))\">" }.joined())\
      <button>\(frame.text(.show))</button>
      <button type="button" id="near" hidden>\(frame.text(.nearMe))</button>
      </form>
      """
  }

  /// The titles of what is shown; the script asks for more while somebody types.
  private var suggestions: String {
    page.regions.prefix(50).map { "<option value=\"\(Markup.escaped($0.title))\"></option>" }.joined()
  }

  /// What to do when nothing is found: a word that is spelled alike, all categories, all maps.
  private var wayOn: String {
    var ways: [String] = []
    if let word = similarWords {
      ways.append(
        "<a href=\"\(frame.link("/catalogue", "q=\(PercentEncoding.encode(word))"))\">"
          + "\(frame.text(.didYouMean, ["word": word]))</a>")
    }
    if query.category != nil, !query.text.isEmpty {
      ways.append(
        "<a href=\"\(frame.link("/catalogue", "q=\(PercentEncoding.encode(query.text))"))\">"
          + "\(frame.text(.withoutCategory))</a>")
    }
    let count = snapshot.isForSale.count { $0 }
    ways.append(
      "<a href=\"\(frame.link("/catalogue"))\">\(frame.text(.allMaps, ["count": "\(count)"]))</a>")
    return """
      <div class="nothing"><p>\(frame.text(.nothing))</p>
      <ul>\(ways.map { "<li>\($0)</li>" }.joined())</ul></div>
      """
  }

  /// The query with words of titles in place of those that nothing has.
  private var similarWords: String? {
    var known: Set<String> = []
    for index in snapshot.regions.indices.prefix(Self.titlesMax) where snapshot.isForSale[index] {
      known.formUnion(PlaceQuery.words(of: PlaceQuery.plain(snapshot.regions[index].title)))
    }
    let names = known.sorted()
    let words = query.words.map { known.contains($0) ? $0 : Spelling.nearest(to: $0, among: names) ?? $0 }
    return words.isEmpty || words == query.words ? nil : words.joined(separator: " ")
  }

  private static let titlesMax = 2000

  // MARK: Cards

  private func card(_ region: RegionListing) -> String {
    let href = frame.link(StoreRoute.regionPage.path(region.id))
    let entry = snapshot.index(of: region.id)
    let picture =
      entry.flatMap { Thumbnail.image(of: snapshot.regions[$0]) }
      ?? "<span class=\"blank\"></span>"
    var facts = [region.category, frame.language.size(region.bytes)]
    facts.append(frame.language(.zooms, ["from": "\(region.minzoom)", "to": "\(region.maxzoom)"]))
    facts.append(frame.language(.edition, ["edition": region.edition]))
    if region.packs > 0 { facts.append(frame.language.count(region.packs, one: .onePack, many: .packs)) }
    return """
      <li class="card" id="region-\(Markup.escaped(region.id))" data-region="\(Markup.escaped(region.id))">
      <a class="picture" href="\(href)" tabindex="-1" aria-hidden="true">\(picture)</a>
      <div class="words"><h2><a href="\(href)">\(Markup.escaped(region.title))</a></h2>
      \(region.near.map(near) ?? "")\(region.places.map(places) ?? "")\
      \(region.description.map { "<p class=\"about\">\(Markup.escaped($0))</p>" } ?? "")
      <p class="facts">\(facts.map { "<span>\(Markup.escaped($0))</span>" }.joined())</p>
      \(CreditLine.html(region.attribution, "attribution"))</div>
      <p class="price">\(frame.price(of: region, snapshot.list?[region.productId]))</p>
      </li>
      """
  }

  private func near(_ near: FoundNear) -> String {
    let text =
      near.isInside
      ? frame.text(.inside) : frame.text(.away, ["distance": frame.language.distance(near.distanceMetres)])
    return "<p class=\"near\">\(text)</p>"
  }

  private func places(_ places: [FoundPlace]) -> String {
    let names = places.map { $0.kind.isEmpty ? $0.name : "\($0.name) (\($0.kind))" }.joined(separator: ", ")
    return "<p class=\"places\">\(frame.text(.contains, ["places": names]))</p>"
  }
}

extension PageFrame {
  /// The price as HTML: a note on taxes is smaller.
  func price(of region: RegionListing, _ product: ProductList.Product?) -> String {
    if region.isFree == true { return "<b>\(text(.free))</b>" }
    if let price = product?.price(in: country) { return html(price) }
    if let tier = region.priceTier { return "<b>\(Markup.escaped(tier))</b>" }
    return "<small>\(text(.notPriced))</small>"
  }

  func html(_ price: ListedPrice) -> String {
    let note = price.taxNote.map { " <small>\(Markup.escaped($0))</small>" } ?? ""
    return "<b>\(Markup.escaped(language.price(price)))</b>\(note)"
  }
}

/// The credits of a region, which licences want on every page that shows it.
enum CreditLine {
  static func html(_ attribution: String?, _ className: String) -> String {
    guard let attribution, !attribution.isEmpty else { return "" }
    return "<p class=\"\(className)\">\(Markup.escaped(plain(attribution)))</p>"
  }

  /// Text without the tags of HTML, with the characters of its commonest entities.
  static func plain(_ html: String) -> String {
    var (text, isTag) = ("", false)
    for (index, character) in zip(html.indices, html) {
      let next = html.index(after: index)
      if character == "<", next < html.endIndex, html[next].isLetter || html[next] == "/", html[next...].contains(">") {
        isTag = true
      } else if isTag {
        isTag = character != ">"
      } else {
        text.append(character)
      }
    }
    for (entity, sign) in [("&copy;", "©"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&nbsp;", " ")] {
      text = text.replacing(entity, with: sign)
    }
    return text.replacing("&amp;", with: "&").trimmingWhitespace
  }
}
