import MapStoreWire
import TileIndex

/// What somebody wants to see of the catalogue.
struct CatalogueQuestion: Hashable, Sendable {
  /// All words must occur in id, title, category or description, in any case, or in the name of a place.
  var words: [String] = []
  var category: String?
  /// Nearest first, and how near; in degrees.
  var near: Place?
  var limit = Self.limitDefault
  /// The id after which the page begins.
  var cursor: String?

  typealias Place = RegionDistance.Place

  static let limitDefault = 100
  static let limitMax = 500

  /// - Throws: `Problem` 400 that names the parameter.
  init(_ query: Query) throws(Problem) {
    words = (query["q"] ?? "").lowercased().split(whereSeparator: \.isWhitespace).map(String.init)
    guard words.count <= 16 else { throw .badRequest("q: has more than 16 words") }
    category = query["category"]
    near = try query["near"].map { (text) throws(Problem) in
      let numbers = try query.numbers("near", count: 2)
      guard abs(numbers[0]) <= 180, abs(numbers[1]) <= 90 else {
        throw .badRequest("near: \"\(text)\" is no longitude and latitude in degrees")
      }
      return Place(longitude: numbers[0], latitude: numbers[1])
    }
    if let text = query["limit"] {
      guard let number = Int(text), (1...Self.limitMax).contains(number) else {
        throw .badRequest("limit: is no number from 1 to \(Self.limitMax)")
      }
      limit = number
    }
    cursor = query["cursor"]
  }

  /// - Throws: `Problem` 400 when the cursor names a region that is not there any more.
  func page(of view: ShelfView) throws(Problem) -> CataloguePage {
    let sold = view.regions.indices.filter { view.isForSale[$0] }
    var counts: [(String, Int)] = []
    for index in sold {
      let category = view.regions[index].category
      if let known = counts.firstIndex(where: { $0.0 == category }) {
        counts[known].1 += 1
      } else {
        counts.append((category, 1))
      }
    }
    var (found, places) = found(in: view)
    var distances: [Int: Double] = [:]
    if let near {
      distances = Dictionary(
        uniqueKeysWithValues: found.map { ($0, RegionDistance.metres(from: near, to: view.regions[$0])) })
      // Positions break ties, so that pages do not overlap.
      found.sort { (distances[$0]!, $0) < (distances[$1]!, $1) }
    }
    var rest = found[...]
    if let cursor {
      guard let last = found.firstIndex(where: { view.regions[$0].id == cursor }) else {
        throw .badRequest("cursor: the catalogue has changed; begin with the first page")
      }
      rest = found[(last + 1)...]
    }
    let page = rest.prefix(limit)
    return CataloguePage(
      regions: page.map { index in
        var listing = view.listings[index]
        listing.places = places[index]
        listing.near = near.flatMap { place in distances[index].map { view.near(index, place, metres: $0) } }
        return listing
      }, total: found.count,
      categories: counts.map { CategoryCount(category: $0.0, regions: $0.1) },
      nextCursor: page.count < rest.count ? page.last.map { view.regions[$0].id } : nil)
  }

  /// What is for sale and meant by the question: first what has the words in its texts, in the shelf's order, then what has them in the names of its places.
  private func found(in view: ShelfView) -> (regions: [Int], places: [Int: [FoundPlace]]) {
    let sold = view.regions.indices.filter {
      view.isForSale[$0] && (category == nil || view.regions[$0].category == category)
    }
    if words.isEmpty { return (sold, [:]) }
    let named = sold.filter { hasWords(view.regions[$0]) }
    let candidates = Set(sold)
    let found = view.places.regions(having: words).filter { candidates.contains($0.region) }
    let others = Set(named)
    return (
      named + found.map(\.region).filter { !others.contains($0) },
      Dictionary(uniqueKeysWithValues: found.map { ($0.region, $0.places) })
    )
  }

  private func hasWords(_ region: Catalogue.Region) -> Bool {
    let text = [region.id, region.title, region.category, region.description ?? ""].joined(separator: "\n").lowercased()
    return words.allSatisfy { text.contains($0) }
  }
}

extension ShelfView {
  fileprivate func near(_ index: Int, _ place: CatalogueQuestion.Place, metres: Double) -> FoundNear {
    let isInside = metres == 0
    let parcels =
      isInside
      ? parcelIndex(of: index)?.parcels(longitude: place.longitude, latitude: place.latitude) ?? [] : []
    return FoundNear(
      // What is outside by a step is not inside.
      distanceMetres: isInside ? 0 : max(1, Int(metres.rounded())), isInside: isInside,
      parcels: parcels.map { number in
        let parcel = regions[index].parcels[number]
        return FoundParcel(file: parcel.file, bytes: parcel.bytes, isOverview: parcel.isOverview)
      })
  }
}

extension CatalogueQuestion {
  /// The same for the same question: stands in the entity tag.
  var hashText: String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in "\(self)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return String(hash, radix: 16)
  }
}
