import MapStoreWire
import RegionCatalog
import Support

/// What is sold: the products file of the operator, or a list of states that an app store exports.
///
/// Three forms (docs/reference/store.md): JSON with `products`, which has prices, bundles and samples; JSON of states
/// alone, an array of objects with `productId` and `state` or an object of states by product; CSV (RFC 4180) with
/// `product id,state` and, if wanted, `,price,currency,tax note`. A list without products is an error, since it would
/// take everything off sale.
struct ProductList: Sendable, Hashable {
  struct Product: Sendable, Hashable {
    var id: String
    /// Whether it can be bought now.
    var isReady = true
    var price: ListedPrice?
    /// By ISO 3166 code.
    var countries: [String: ListedPrice] = [:]
    /// For customers, of a product that is not a region's own.
    var title: String?
    /// Regions that it opens beside its own, and products whose regions it opens.
    var regions: [String] = []
    var products: [String] = []
    /// Where it stands in the file, for errors.
    var place: String

    var isBundle: Bool { !regions.isEmpty || !products.isEmpty }

    func price(in country: String?) -> ListedPrice? { country.flatMap { countries[$0] } ?? price }
  }

  /// In the order of the file.
  let products: [Product]
  private let indexByID: [String: Int]
  /// Regions that everybody with an account has, with their places in the file.
  let samples: [(id: String, place: String)]

  static func == (a: Self, b: Self) -> Bool {
    a.products == b.products && a.samples.map(\.id) == b.samples.map(\.id)
  }

  func hash(into hasher: inout Hasher) { hasher.combine(products) }

  init(_ products: [Product], samples: [(id: String, place: String)] = []) {
    (self.products, self.samples) = (products, samples)
    indexByID = Dictionary(products.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { _, last in last })
  }

  subscript(id: String) -> Product? { indexByID[id].map { products[$0] } }

  /// Whether a product can be bought now; false for products that the list lacks.
  func isReady(_ product: String) -> Bool { self[product]?.isReady ?? false }

  /// The regions that a product opens beside those of which it is the own product, by their positions.
  ///
  /// - Parameter index: the position of a present or former id.
  func regions(openedBy product: Product, index: (String) -> Int?, own: (String) -> [Int]) -> [Int] {
    var (seen, found, waiting): (Set<String>, [Int], [String]) = ([], [], [product.id])
    while let id = waiting.popLast() {
      guard seen.insert(id).inserted else { continue }
      found += own(id)
      guard let product = self[id] else { continue }
      found += product.regions.compactMap(index)
      waiting += product.products.reversed()
    }
    return Set(found).sorted()
  }
}

extension ProductList {
  /// Checks the names in the list against those of the catalogue.
  ///
  /// - Throws: ``StoreError`` for a price without product, for a bundle or sample that names what is not there, and for
  ///   a bundle that contains itself.
  func check(against regions: [Catalog.Region], path: String) throws {
    let ids = Set(regions.flatMap(\.names.ids))
    let own = Set(regions.flatMap(\.names.products))
    func refused(_ message: String, _ remedy: String) -> StoreError {
      StoreError(.unreadableInput, at: path, message, remedy: remedy)
    }
    for product in products {
      if product.price != nil || !product.countries.isEmpty, !product.isBundle, !own.contains(product.id) {
        throw refused(
          "\(product.place): \(product.id) has a price, and no region of the catalogue is sold as it",
          "correct the id (\(Self.hint(product.id, own))), or say which regions it opens: \"regions\": [...]")
      }
      if let unknown = product.regions.first(where: { !ids.contains($0) }) {
        throw refused(
          "\(product.place): \(product.id) opens the region \"\(unknown)\", which the catalogue lacks",
          "correct the id (\(Self.hint(unknown, ids))), or leave it out")
      }
      if let unknown = product.products.first(where: { self[$0] == nil && !own.contains($0) }) {
        throw refused(
          "\(product.place): \(product.id) contains the product \"\(unknown)\", which neither this file nor the "
            + "catalogue has", "correct the id (\(Self.hint(unknown, own))), or leave it out")
      }
      if let circle = circle(from: product.id) {
        throw refused(
          "\(product.place): the bundle \(product.id) contains itself: \(circle.joined(separator: ", "))",
          "leave one of them out of \"products\"")
      }
    }
    for sample in samples where !ids.contains(sample.id) {
      throw refused(
        "\(sample.place): the sample \"\(sample.id)\" is not a region of the catalogue",
        "correct the id (\(Self.hint(sample.id, ids))), or leave it out")
    }
  }

  /// The products that lead from one back to itself.
  private func circle(from start: String) -> [String]? {
    var seen: Set<String> = []
    func search(_ id: String, _ way: [String]) -> [String]? {
      for next in self[id]?.products ?? [] {
        if next == start { return way + [next] }
        if seen.insert(next).inserted, let found = search(next, way + [next]) { return found }
      }
      return nil
    }
    return search(start, [start])
  }

  private static func hint(_ name: String, _ names: Set<String>) -> String {
    Spelling.nearest(to: name, among: names.sorted()).map { "did you mean \($0)?" } ?? "catalogue.json has them"
  }
}
