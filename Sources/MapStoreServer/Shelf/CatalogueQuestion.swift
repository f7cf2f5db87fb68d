import MapStoreWire
import TileIndex

/// What somebody wants to see of the catalogue.
struct CatalogueQuestion: Hashable, Sendable {
  /// All words must occur in id, title, category or description, in any case, or in the name of a place.
  var words: [String] = []
  var category: String?
  /// Nearest first, in degrees.
  var near: Place?
  var limit = Self.limitDefault
  /// The id after which the page begins.
  var cursor: String?

  struct Place: Hashable, Sendable {
    var longitude: Double
    var latitude: Double
  }

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
    if let near {
      let distances = Dictionary(uniqueKeysWithValues: found.map { ($0, view.regions[$0].distance(to: near)) })
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

extension CatalogueQuestion {
  /// The same for the same question: stands in the entity tag.
  var hashText: String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in "\(self)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return String(hash, radix: 16)
  }
}

extension Catalogue.Region {
  /// How far a place is from the region, in degrees of latitude: 0 inside its outline, a little more in its box only. Good enough for an order.
  fileprivate func distance(to place: CatalogueQuestion.Place) -> Double {
    let (west, south, east, north) = (bounds[0], bounds[1], bounds[2], bounds[3])
    // A box across the antimeridian, and places a turn away, are compared in turns of their own.
    let eastFromWest = east < west ? east + 360 : east
    let beyond = [-360.0, 0, 360].map { turn in
      let longitude = place.longitude + turn
      return max(west - longitude, longitude - eastFromWest, 0)
    }.min()!
    let aside = beyond * Self.cosine(ofDegrees: place.latitude)
    let above = max(south - place.latitude, place.latitude - north, 0)
    let distance = (aside * aside + above * above).squareRoot()
    guard distance == 0, let boundary else { return distance }
    return boundary.contains(longitude: place.longitude, latitude: place.latitude) ? 0 : 0.001
  }

  /// By its series; exact to a thousandth up to the poles, where nothing is sold.
  private static func cosine(ofDegrees degrees: Double) -> Double {
    let x = degrees * .pi / 180
    let square = x * x
    return 1 - square / 2 + square * square / 24 - square * square * square / 720
  }
}
