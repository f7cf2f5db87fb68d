import MapStoreWire
import Support

/// Reads the forms of the products file.
extension ProductList {
  private static let bytesMax = 64 << 20

  /// - Throws: ``StoreError``.
  init(path: String) throws {
    func unreadable(_ message: String, _ remedy: String) -> StoreError {
      StoreError(.unreadableInput, at: path, message, remedy: remedy)
    }
    guard let file = RegularFile(path) else { throw unreadable("cannot be read", "check the name and permissions") }
    guard file.byteCount <= Self.bytesMax else {
      throw unreadable(
        "has \(file.byteCount) bytes, and at most \(Self.bytesMax) are read", "name only the products of this store")
    }
    let bytes: [UInt8]
    do {
      bytes = try file.allBytes(countMax: Self.bytesMax)
    } catch {
      throw unreadable("cannot be read: \(error)", "write it beside, and give it its name by a rename")
    }
    try self.init(bytes, path: path)
  }

  /// - Parameter path: for error messages.
  init(_ bytes: [UInt8], path: String) throws {
    let text = UTF8Mark.removed(from: bytes)
    do throws(Fault) {
      switch text.first(where: { !CSVLine.isSpace($0) }) {
      case UInt8(ascii: "["), UInt8(ascii: "{"): self = try Self.fromJSON(text)
      default: self.init(try CSVLine.products(text))
      }
    } catch {
      throw StoreError(.unreadableInput, at: path, error.message, remedy: error.remedy)
    }
    guard !products.isEmpty || !samples.isEmpty else {
      throw StoreError(
        .unreadableInput, at: path, "names no product",
        remedy: "write it beside, and give it its name by a rename; without this file all is for sale")
    }
  }

  private static func fromJSON(_ bytes: [UInt8]) throws(ListedPrice.Fault) -> ProductList {
    let document: JSONValue
    do { document = try JSONValue(parsing: bytes) } catch {
      throw Fault("is not valid JSON: \(error)", remedy: "correct it there")
    }
    let reading = Reading(bytes)
    switch document {
    case .array(let entries): return ProductList(try reading.products(entries, isStrict: false, taxNote: nil))
    case .object(let members) where document["products"] != nil || document["samples"] != nil:
      let known = ["products", "samples", "taxNote", "$schema"]
      if let unknown = members.first(where: { !known.contains($0.name) }) {
        throw Fault("has a member \"\(unknown.name)\"", remedy: Spelling.remedy(for: unknown.name, among: known))
      }
      let note = try reading.text(document, "taxNote", "taxNote")
      let entries = try reading.array(document, "products", "products")
      let samples = try reading.texts(document, "samples", "samples")
      return ProductList(
        try reading.products(entries, isStrict: true, taxNote: note), samples: samples.map { ($0, "samples") })
    case .object(let members):
      return ProductList(
        try members.map { (member) throws(ListedPrice.Fault) in
          guard case .string(let state) = member.value else {
            throw Fault("\(member.name) has no state", remedy: "write a text such as ready, or a list \"products\"")
          }
          return Product(id: member.name, isReady: try isReady(state, member.name), place: member.name)
        })
    default: throw Fault("is neither an array nor an object", remedy: "write a list \"products\"")
    }
  }

  typealias Fault = ListedPrice.Fault

  /// Apple's, Google's and our states of products that can be bought. In lower case, with `_` between words.
  private static let readyWords: Set<String> = ["ready", "ready_for_sale", "approved", "active"]
  /// Apple's, Google's and our states of products that cannot.
  private static let otherWords: Set<String> = [
    "missing_metadata", "waiting_for_upload", "processing_content", "ready_to_submit", "waiting_for_review",
    "in_review", "developer_action_needed", "pending_binary_approval", "pending_developer_release", "rejected",
    "developer_removed_from_sale", "removed_from_sale", "developer_rejected", "deleted", "draft", "inactive",
    "inactive_published", "state_unspecified", "status_unspecified", "removed", "retired", "hidden", "waiting",
    "not_ready",
  ]

  static func isReady(_ state: String, _ place: String) throws(Fault) -> Bool {
    let word = state.lowercased().replacing(" ", with: "_").replacing("-", with: "_")
    guard readyWords.contains(word) || otherWords.contains(word) else {
      throw Fault(
        "\(place): \"\(state)\" is no state that is known",
        remedy: "write ready for what is sold, removed for what is not, or the store's word for it")
    }
    return readyWords.contains(word)
  }

  /// The members of products, each with its place: `line 12: products[3]`.
  private struct Reading {
    /// Of the member `productId` of each product.
    private let lines: [Int]

    init(_ bytes: [UInt8]) {
      let places = (try? JSONReader.places(of: "productId", in: bytes)) ?? []
      var (line, last, lines) = (1, 0, [Int]())
      for place in places {
        line += bytes[last..<place.lowerBound].count { $0 == UInt8(ascii: "\n") }
        last = place.lowerBound
        lines.append(line)
      }
      self.lines = lines
    }

    func array(_ value: JSONValue, _ name: String, _ place: String) throws(Fault) -> [JSONValue] {
      guard let member = value[name] else { return [] }
      guard case .array(let elements) = member else { throw Fault("\(place) must be a list", remedy: "write [...]") }
      return elements
    }

    func text(_ value: JSONValue, _ name: String, _ place: String) throws(Fault) -> String? {
      guard let member = value[name] else { return nil }
      switch member {
      case .string(let text): return text
      // Digits as they are written: 4.90.
      case .number(let digits) where name == "price": return digits
      default: throw Fault("\(place) must be text", remedy: "write it in quotation marks")
      }
    }

    func texts(_ value: JSONValue, _ name: String, _ place: String) throws(Fault) -> [String] {
      try array(value, name, place).map { (element) throws(Fault) in
        guard case .string(let text) = element else {
          throw Fault("\(place) must be a list of texts", remedy: "write ids")
        }
        return text
      }
    }

    func products(_ entries: [JSONValue], isStrict: Bool, taxNote: String?) throws(Fault) -> [Product] {
      var seen: Set<String> = []
      var products: [Product] = []
      for (index, entry) in entries.enumerated() {
        let line = index < lines.count && lines.count == entries.count ? "line \(lines[index]): " : ""
        let place = "\(line)\(isStrict ? "products" : "")[\(index)]"
        guard let id = try text(entry, "productId", "\(place).productId"), !id.isEmpty else {
          throw Fault("\(place) has no productId", remedy: "write the product's id in the app stores")
        }
        // A list of states may repeat a product; the last one counts, as in CSV.
        if isStrict, !seen.insert(id).inserted {
          throw Fault("\(place): \(id) is there twice", remedy: "leave one of them out")
        }
        products.append(try product(entry, id, isStrict ? place : "\(line)\(id)", isStrict: isStrict, taxNote))
      }
      return products
    }

    private static let members = [
      "productId", "state", "title", "price", "currency", "taxNote", "countries", "regions", "products",
    ]

    private func product(
      _ entry: JSONValue, _ id: String, _ place: String, isStrict: Bool, _ taxNote: String?
    ) throws(Fault) -> Product {
      if isStrict { try check(entry, Self.members, place) }
      var product = Product(id: id, place: place)
      let state = try text(entry, "state", "\(place).state")
      if let state { product.isReady = try ProductList.isReady(state, place) }
      if state == nil, !isStrict { throw Fault("\(place) has no state", remedy: "write ready or removed") }
      guard isStrict else { return product }
      product.title = try text(entry, "title", "\(place).title")
      product.price = try price(entry, place, taxNote)
      if case .object(let countries)? = entry["countries"] {
        for country in countries {
          let name = country.name
          guard name.utf8.count == 2, name.utf8.allSatisfy({ (0x41...0x5a).contains($0) }) else {
            throw Fault("\(place).countries: \"\(name)\" is no country", remedy: "write two letters of ISO 3166: CH")
          }
          try check(country.value, ["price", "currency", "taxNote"], "\(place).countries.\(name)")
          guard let price = try price(country.value, "\(place).countries.\(name)", taxNote) else {
            throw Fault("\(place).countries.\(name) has no price", remedy: "write price and currency")
          }
          product.countries[name] = price
        }
      } else if entry["countries"] != nil {
        throw Fault("\(place).countries is no object", remedy: "write {\"CH\": {\"price\": …, \"currency\": …}}")
      }
      product.regions = try texts(entry, "regions", "\(place).regions")
      product.products = try texts(entry, "products", "\(place).products")
      return product
    }

    private func price(_ value: JSONValue, _ place: String, _ taxNote: String?) throws(Fault) -> ListedPrice? {
      let amount = try text(value, "price", "\(place).price")
      let currency = try text(value, "currency", "\(place).currency")
      guard amount != nil || currency != nil else { return nil }
      guard let amount, let currency else {
        throw Fault(
          "\(place) has \(amount == nil ? "a currency and no price" : "a price and no currency")",
          remedy: "write both")
      }
      let note = try text(value, "taxNote", "\(place).taxNote") ?? taxNote
      do { return try ListedPrice(checking: amount, currency, taxNote: note) } catch {
        throw Fault("\(place): \(error.message)", remedy: error.remedy)
      }
    }

    private func check(_ value: JSONValue, _ known: [String], _ place: String) throws(Fault) {
      guard case .object(let members) = value else { throw Fault("\(place) is no object", remedy: "write {...}") }
      if let unknown = members.first(where: { !known.contains($0.name) }) {
        throw Fault(
          "\(place) has a member \"\(unknown.name)\"", remedy: Spelling.remedy(for: unknown.name, among: known))
      }
    }
  }
}
