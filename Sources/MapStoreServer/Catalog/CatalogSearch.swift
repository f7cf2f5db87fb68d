import MapStoreWire
import RegionCatalog
import Support
import TileIndex

/// A query of the catalogue: text, category, place, and page.
struct CatalogSearch: Hashable, Sendable {
  /// The search text; empty for all regions.
  var text = ""
  /// The words of `text` in the form in which they are compared. A text without letters and digits has none, and finds
  /// nothing.
  var words: [String] = []
  var category: String?
  /// Sorts by distance from this place.
  var near: Place?
  var limit = Self.limitDefault
  /// The id of the last region of the page before.
  var cursor: String?

  typealias Place = RegionOutline.Place

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

  /// What a query finds; its page of ``regions`` are positions in the catalogue.
  private struct Results {
    var regions: ArraySlice<Int>
    var places: [Int: [FoundPlace]]
    /// In metres; empty without ``near``.
    var distances: [Int: Double]
    var total: Int
    var categories: [CategoryCount]
    var nextCursor: String?
  }

  /// - Throws: `Problem` 400 if the cursor's region has left the catalogue.
  func page(of snapshot: CatalogSnapshot) throws(Problem) -> CatalogPage {
    let results = try results(in: snapshot)
    return CatalogPage(
      regions: results.regions.map { index in
        var listing = snapshot.listings[index]
        listing.places = results.places[index]
        listing.near = found(index, snapshot, results)
        return listing
      }, total: results.total, categories: results.categories, nextCursor: results.nextCursor)
  }

  /// The JSON of the page. Most of a region's text is the same for all queries, so it is encoded once.
  ///
  /// - Throws: `Problem` 400 if the cursor's region has left the catalogue.
  func document(of snapshot: CatalogSnapshot) throws -> [UInt8] {
    let results = try results(in: snapshot)
    let frame = try WireJSON.encode(
      CatalogPage(
        regions: [], total: results.total, categories: results.categories, nextCursor: results.nextCursor))
    var bytes = Array("{\"regions\":[".utf8)
    for (position, index) in results.regions.enumerated() {
      if position > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes += snapshot.listingTexts.text(index).dropLast()
      // The last members of a listing, in the order of their declaration.
      if let near = found(index, snapshot, results) { bytes += Array(",\"near\":".utf8) + (try Self.text(near)) }
      if let places = results.places[index] { bytes += Array(",\"places\":".utf8) + (try WireJSON.encode(places)) }
      bytes.append(UInt8(ascii: "}"))
    }
    return bytes + frame.dropFirst("{\"regions\":[".utf8.count)
  }

  /// Most regions of a page are away from the place: their text is too short for a JSON encoder.
  private static func text(_ near: FoundNear) throws -> [UInt8] {
    guard near.packs.isEmpty else { return try WireJSON.encode(near) }
    return Array("{\"distanceMetres\":\(near.distanceMetres),\"isInside\":\(near.isInside),\"packs\":[]}".utf8)
  }

  private func found(_ index: Int, _ snapshot: CatalogSnapshot, _ results: Results) -> FoundNear? {
    near.flatMap { place in results.distances[index].map { snapshot.near(index, place, metres: $0) } }
  }

  private func results(in snapshot: CatalogSnapshot) throws(Problem) -> Results {
    let sold = snapshot.regions.indices.filter { snapshot.isForSale[$0] }
    var counts: [(String, Int)] = []
    for index in sold {
      let category = snapshot.regions[index].category
      if let known = counts.firstIndex(where: { $0.0 == category }) {
        counts[known].1 += 1
      } else {
        counts.append((category, 1))
      }
    }
    var (found, places) = found(in: snapshot)
    let total = found.count
    let last = cursor.flatMap { cursor in found.first { snapshot.regions[$0].id == cursor } }
    guard cursor == nil || last != nil else {
      throw .badRequest("cursor: the catalogue has changed", remedy: "begin with the first page")
    }
    var distances: [Int: Double] = [:]
    if let near {
      let nearest = nearest(to: near, found, after: last, in: snapshot)
      distances = Dictionary(uniqueKeysWithValues: nearest.map { ($0.index, $0.metres) })
      found = nearest.map(\.index)
    }
    let start = last.flatMap { found.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
    let page = found[start...].prefix(limit)
    return Results(
      regions: page, places: places, distances: distances, total: total,
      categories: counts.map { CategoryCount(category: $0.0, regions: $0.1) },
      nextCursor: start + page.count < total ? page.last.map { snapshot.regions[$0].id } : nil)
  }

  /// The regions by their distance from a place, as far as the page goes. Ties are in the order of the catalogue, so
  /// that pages do not overlap.
  ///
  /// 1. Regions are ordered by the distance of their boxes, which is never greater than their own.
  /// 2. They are measured in that order. What is nearer than the next box is nearer than everything that follows.
  private func nearest(
    to place: Place, _ found: [Int], after last: Int?, in snapshot: CatalogSnapshot
  ) -> [(metres: Double, index: Int)] {
    let waiting = found.map { (least: snapshot.outlines[$0].metresToBox(from: place), index: $0) }
      .sorted { ($0.least, $0.index) < ($1.least, $1.index) }
    var measured: [(metres: Double, index: Int)] = []
    var count = min(waiting.count, limit + 1)
    while true {
      for item in waiting[measured.count..<count] {
        measured.append((snapshot.outlines[item.index].metres(from: place), item.index))
      }
      measured.sort { ($0.metres, $0.index) < ($1.metres, $1.index) }
      guard count < waiting.count else { return measured }
      let certain = measured.prefix { $0.metres < waiting[count].least }
      let start = last.map { last in certain.firstIndex { $0.index == last }.map { $0 + 1 } ?? .max } ?? 0
      if certain.count - limit >= start { return Array(certain) }
      count = min(waiting.count, 2 * count)
    }
  }

  /// The regions for sale that match, in this order:
  ///
  /// 1. each word is the prefix of a word in the region's own texts: in the catalogue's order;
  /// 2. the words that its texts lack match a place in the region: by the rank of the place;
  /// 3. the words occur inside words of its texts.
  private func found(in snapshot: CatalogSnapshot) -> (regions: [Int], places: [Int: [FoundPlace]]) {
    let sold = snapshot.regions.indices.filter {
      snapshot.isForSale[$0] && (category == nil || snapshot.regions[$0].category == category)
    }
    if text.isEmpty { return (sold, [:]) }
    if words.isEmpty { return ([], [:]) }
    let missing = sold.map { index in words.filter { !snapshot.searchTexts[index].hasBeginning($0) } }
    var looks: [[String]: [Int: PlaceDirectory.Found]] = [words: snapshot.places.regions(having: words)]
    for rest in missing where !rest.isEmpty && looks.count < Self.looksMax && looks[rest] == nil {
      looks[rest] = snapshot.places.regions(having: rest)
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
      } else if words.allSatisfy(snapshot.searchTexts[index].contains) {
        rest.append(index)
      }
    }
    placed.sort { ($0.found.rank, $0.index) < ($1.found.rank, $1.index) }
    return (named + placed.map(\.index) + rest, places)
  }

  /// Regions lack different words in their texts; each combination costs a query of the places.
  private static let looksMax = 3
}

extension CatalogSnapshot {
  fileprivate func near(_ index: Int, _ place: CatalogSearch.Place, metres: Double) -> FoundNear {
    let isInside = metres == 0
    let packs =
      isInside
      ? packIndex(of: index)?.packs(longitude: place.longitude, latitude: place.latitude) ?? [] : []
    return FoundNear(
      // Outside, the distance is at least 1 m.
      distanceMetres: isInside ? 0 : max(1, Int(metres.rounded())), isInside: isInside,
      packs: packs.map { number in
        let pack = regions[index].packs[number]
        return FoundTilePack(file: pack.file, bytes: pack.bytes, isOverview: pack.isOverview)
      })
  }
}

extension CatalogSearch: CustomStringConvertible {
  /// All that makes one query differ from another. No member contains NUL.
  var description: String {
    let place = near.map { "\($0.longitude) \($0.latitude)" } ?? ""
    return [text, category ?? "", place, "\(limit)", cursor ?? ""].joined(separator: "\u{0}")
  }

  /// The URL query of the next page, which begins after a region.
  func query(after cursor: String) -> String {
    var pairs = [("cursor", cursor)]
    if !text.isEmpty { pairs.append(("q", text)) }
    if let category { pairs.append(("category", category)) }
    if let near { pairs.append(("near", "\(near.longitude),\(near.latitude)")) }
    if limit != Self.limitDefault { pairs.append(("limit", "\(limit)")) }
    return pairs.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
  }

  /// A hash of the query, for the entity tag (FNV-1a).
  var hashText: String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in "\(self)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return String(hash, radix: 16)
  }
}
