import Gazetteer
import MapStoreWire
import TileIndex

/// What somebody wants to see of the catalogue.
struct CatalogueQuestion: Hashable, Sendable {
  /// What is looked for, as it was asked; empty for all.
  var text = ""
  /// Its words as texts and names of places are compared with them. None where the text has no letter or digit, which nothing is found by.
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
    text = (query["q"] ?? "").split(whereSeparator: \.isWhitespace).joined(separator: " ")
    words = PlaceQuery.words(of: PlaceQuery.plain(text))
    guard words.count <= 16 else { throw .badRequest("q: has more than 16 words") }
    category = query["category"]
    near = try query.value("near").map { (text) throws(Problem) in
      let numbers = try query.numbers("near", count: 2)
      guard abs(numbers[0]) <= 180, abs(numbers[1]) <= 90 else {
        throw .badRequest("near: \"\(text)\" is no longitude and latitude in degrees")
      }
      return Place(longitude: numbers[0], latitude: numbers[1])
    }
    if let text = try query.value("limit") {
      guard let number = Int(text), (1...Self.limitMax).contains(number) else {
        throw .badRequest("limit: is no number from 1 to \(Self.limitMax)")
      }
      limit = number
    }
    cursor = try query.value("cursor")
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

  /// What is for sale and meant by the question:
  /// 1. what has each word as the beginning of a word in its own texts, in the shelf's order;
  /// 2. what has a place with the words that its texts do not have: first where the place's name begins so, then the most important place;
  /// 3. what has the words within words of its texts.
  private func found(in view: ShelfView) -> (regions: [Int], places: [Int: [FoundPlace]]) {
    let sold = view.regions.indices.filter {
      view.isForSale[$0] && (category == nil || view.regions[$0].category == category)
    }
    if text.isEmpty { return (sold, [:]) }
    if words.isEmpty { return ([], [:]) }
    let missing = sold.map { index in words.filter { !view.searchTexts[index].hasBeginning($0) } }
    var looks: [[String]: [Int: PlaceDirectory.Found]] = [words: view.places.regions(having: words)]
    for rest in missing where !rest.isEmpty && looks.count < Self.looksMax && looks[rest] == nil {
      looks[rest] = view.places.regions(having: rest)
    }
    var (named, placed, rest): ([Int], [(index: Int, found: PlaceDirectory.Found)], [Int]) = ([], [], [])
    var places: [Int: [FoundPlace]] = [:]
    for (index, missing) in zip(sold, missing) {
      let found = looks[words]?[index] ?? looks[missing]?[index]
      places[index] = found?.places
      if missing.isEmpty {
        named.append(index)
      } else if let found {
        placed.append((index, found))
      } else if words.allSatisfy(view.searchTexts[index].contains) {
        rest.append(index)
      }
    }
    placed.sort { ($0.found.rank, $0.index) < ($1.found.rank, $1.index) }
    return (named + placed.map(\.index) + rest, places)
  }

  /// Regions differ in which of the words their texts have; each difference costs a look into the places.
  private static let looksMax = 3
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
  /// The query of the page that begins after a region, with all that this one was asked for.
  func query(after cursor: String) -> String {
    var pairs = [("cursor", cursor)]
    if !text.isEmpty { pairs.append(("q", text)) }
    if let category { pairs.append(("category", category)) }
    if let near { pairs.append(("near", "\(near.longitude),\(near.latitude)")) }
    if limit != Self.limitDefault { pairs.append(("limit", "\(limit)")) }
    return pairs.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
  }

  /// The same for the same question: stands in the entity tag.
  var hashText: String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in "\(self)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return String(hash, radix: 16)
  }
}
