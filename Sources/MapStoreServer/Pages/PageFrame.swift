import MapStoreWire
import Support

/// What all pages of one answer share: the shop, the visitor's language and country, and the frame of the HTML.
struct PageFrame: Sendable {
  let front: ShopFront
  let language: PageLanguage
  /// Whether the address names the language; links keep it then.
  let isLanguageChosen: Bool
  /// ISO 3166; nil if unknown.
  let country: String?
  /// Where clients reach the service, without a slash at the end; nil if the operator does not say.
  let publicURL: String?

  /// Nothing inline, nothing from other hosts.
  static let contentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    + "base-uri 'none'; form-action 'self'; frame-ancestors 'self'"

  /// All that makes one frame differ from another.
  var key: String { "\(language.tag)\(isLanguageChosen ? "!" : "") \(country ?? "")" }

  var shopName: String { front.name ?? language(.shop) }

  /// A path with a query, as HTML; the chosen language is kept.
  func link(_ path: String, _ query: String = "") -> String {
    let parts = [query, isLanguageChosen ? "lang=\(language.tag)" : ""].filter { !$0.isEmpty }
    return Markup.escaped(path + (parts.isEmpty ? "" : "?" + parts.joined(separator: "&")))
  }

  func text(_ text: PageText, _ words: [String: String] = [:]) -> String { Markup.escaped(language(text, words)) }

  /// - Parameters:
  ///   - path: of the page, for its addresses in other languages.
  ///   - head: further elements of the head.
  ///   - scripts: names below `/assets/`.
  ///   - isIndexed: whether search engines may list it.
  func document(
    title: String, path: String, head: String = "", search: String = "", scripts: [String] = [],
    styles: [String] = [], isIndexed: Bool = true, main: String
  ) -> [UInt8] {
    func asset(_ name: String) -> String {
      PageAssets.path(name, name == "colours.css" ? front.colours : PageAssets.bodies[name])
    }
    var links = (styles + ["store.css"] + (front.colours == nil ? [] : ["colours.css"])).map {
      "<link rel=\"stylesheet\" href=\"\(asset($0))\">"
    }
    links += scripts.map { "<script src=\"\(asset($0))\" defer></script>" }
    if !isIndexed { links.append("<meta name=\"robots\" content=\"noindex\">") }
    let icon = front.logo.map { PageAssets.path($0.name, $0.body) } ?? "data:,"
    let logo = front.logo == nil ? "" : "<img src=\"\(icon)\" alt=\"\" height=\"32\">"
    return Array(
      """
      <!doctype html>
      <html lang="\(language.tag)">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>\(Markup.escaped(title))</title>
      <link rel="icon" href="\(icon)">
      \(links.joined(separator: "\n"))
      \(head)
      </head>
      <body>
      <a class="skip" href="#main">\(text(.skip))</a>
      <header>
      <a class="shop" href="\(link("/catalogue"))">\(logo)<span>\(Markup.escaped(shopName))</span></a>
      \(search)
      </header>
      <main id="main">
      \(main)
      </main>
      \(footer(path))
      </body>
      </html>

      """.utf8)
  }

  private func footer(_ path: String) -> String {
    guard front.languages.count > 1 else { return "" }
    let links = front.languages.map { other in
      let isHere = other.tag == language.tag
      return """
        <li><a href="\(Markup.escaped(path))?lang=\(other.tag)" lang="\(other.tag)" hreflang="\(other.tag)"\
        \(isHere ? " aria-current=\"true\"" : "")>\(Markup.escaped(other.name))</a></li>
        """
    }
    return "<footer><nav aria-label=\"\(text(.language))\"><ul>\(links.joined())</ul></nav></footer>"
  }

  /// A URL of the operator's for a region.
  func address(_ pattern: String?, _ id: String, _ product: String) -> String? {
    pattern.map {
      Markup.escaped(
        $0.replacing("{id}", with: PercentEncoding.encode(id)).replacing(
          "{product}", with: PercentEncoding.encode(product)))
    }
  }
}
