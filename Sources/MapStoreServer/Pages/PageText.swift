import MapStoreWire

/// A text of the pages. Words in braces are filled in; a translation has the same ones.
enum PageText: String, CaseIterable, Sendable {
  case shop, skip, search, searchHint, show, category, allCategories, nearMe, language
  case oneMap, maps, moreMaps, coverage, contains, inside, away
  case nothing, didYouMean, allMaps, withoutCategory
  case free, price, notPriced, otherCountries, zooms, edition, onePack, packs
  case about, size, zoomLevels, area, editions, editionNow, editionFrom, parts, partsNote, partOfOverview
  case places, related, bundles, bundle, credits, preview, previewNote
  case get, openInApp, appStore, googlePlay, checkout, inTheApp
  case missingPage, missingPageNote

  static let english: [PageText: String] = [
    .shop: "Maps", .skip: "Skip to the maps", .search: "Search", .searchHint: "Search maps and places", .show: "Search",
    .category: "Category", .allCategories: "All categories", .nearMe: "Near me", .language: "Language",
    .oneMap: "1 map", .maps: "{count} maps", .moreMaps: "More maps", .coverage: "What the maps cover",
    .contains: "Has {places}", .inside: "Covers the place", .away: "{distance} away",
    .nothing: "No map and no place has all of these words.", .didYouMean: "Did you mean {word}?",
    .allMaps: "See all {count} maps", .withoutCategory: "Search in all categories",
    .free: "Free", .price: "{currency}{amount}", .notPriced: "Price in the app",
    .otherCountries: "Prices in other countries", .zooms: "zooms {from}–{to}", .edition: "edition {edition}",
    .onePack: "1 part", .packs: "{count} parts", .about: "Details", .size: "Download", .zoomLevels: "Zooms",
    .area: "Area", .editions: "Editions", .editionNow: "{edition}, the present one",
    .editionFrom: "{edition}: devices that have it fetch {size}", .parts: "Parts",
    .partsNote: "The app can fetch the parts that you need: {count} parts of {size} at most.",
    .partOfOverview: "overview", .places: "Places on this map", .related: "Related maps",
    .bundles: "Also in", .bundle: "{count} maps", .credits: "Credits", .preview: "Preview of {title}",
    .previewNote: "The preview is coarser than the map, which goes to zoom {deepest}.", .get: "Get this map",
    .openInApp: "Open in the app",
    .appStore: "App Store", .googlePlay: "Google Play", .checkout: "Buy here",
    .inTheApp: "This map is sold in the app.", .missingPage: "There is no such page",
    .missingPageNote: "The map may have left the shop. Owners still find it in the app.",
  ]

  /// The words in braces of a text.
  static func placeholders(_ text: String) -> Set<String> {
    var found: Set<String> = []
    for part in text.split(separator: "{", omittingEmptySubsequences: false).dropFirst() {
      if let end = part.firstIndex(of: "}") { found.insert(String(part[..<end])) }
    }
    return found
  }
}

/// The texts of the pages in one language, and how it writes numbers.
struct PageLanguage: Sendable, Hashable {
  /// BCP 47: `en`, `de`, `pt-BR`.
  let tag: String
  /// Its own name, for the choice of languages.
  let name: String
  let decimalSign: String
  private let texts: [PageText: String]

  static let english = PageLanguage(tag: "en", name: "English", decimalSign: ".", texts: PageText.english)

  /// - Parameter texts: all of them.
  init(tag: String, name: String, decimalSign: String, texts: [PageText: String]) {
    (self.tag, self.name, self.decimalSign, self.texts) = (tag, name, decimalSign, texts)
  }

  /// A text with its words filled in.
  func callAsFunction(_ text: PageText, _ words: [String: String] = [:]) -> String {
    // Both tables are complete: `init(path:)` checks it, and a test that of English.
    words.reduce(texts[text] ?? text.rawValue) { $0.replacing("{\($1.key)}", with: $1.value) }
  }

  func count(_ count: Int, one: PageText, many: PageText) -> String {
    count == 1 ? self(one) : self(many, ["count": "\(count)"])
  }

  /// `3.4 MB`: two digits at least.
  func size(_ bytes: Int) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")]
    guard let (unit, name) = units.first(where: { bytes >= $0.0 }) else { return "\(bytes) B" }
    return "\(rounded(Double(bytes) / Double(unit)))\u{a0}\(name)"
  }

  func distance(_ metres: Int) -> String {
    metres < 1000 ? "\(metres)\u{a0}m" : "\(rounded(Double(metres) / 1000))\u{a0}km"
  }

  /// Three digits are as much as an outline tells; the others are zeros, in groups of three.
  func area(_ squareKilometres: Double) -> String {
    guard squareKilometres >= 1000 else { return "\(rounded(squareKilometres))\u{a0}km²" }
    var unit = 1
    while Int(squareKilometres) / unit >= 1000 { unit *= 10 }
    let digits = String(Int((squareKilometres / Double(unit)).rounded()) * unit)
    let text = digits.enumerated().reduce(into: "") { text, digit in
      if digit.offset > 0, (digits.count - digit.offset).isMultiple(of: 3) { text += "\u{202f}" }
      text.append(digit.element)
    }
    return "\(text)\u{a0}km²"
  }

  private func rounded(_ value: Double) -> String {
    guard value < 10 else { return String(Int(min(value, 1e15).rounded())) }
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10)\(decimalSign)\(tenths % 10)"
  }

  func price(_ price: ListedPrice) -> String {
    let sign = Self.signs[price.currency]
    return self(
      .price,
      [
        "currency": sign ?? "\(price.currency)\u{a0}", "amount": price.amount.replacing(".", with: decimalSign),
      ])
  }

  private static let signs = ["EUR": "€", "GBP": "£", "USD": "$", "JPY": "¥", "INR": "₹"]
}
