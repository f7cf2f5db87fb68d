import Gazetteer
import MapStoreWire
import RegionCatalog
import Support
import TileIndex

/// A query of the catalogue: text, category, place, and page.
struct CatalogQuery: Hashable, Sendable {
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
      if let near = found(index, snapshot, results) { bytes += Array(",\"near\":".utf8) + (try WireJSON.encode(near)) }
      if let places = results.places[index] { bytes += Array(",\"places\":".utf8) + (try WireJSON.encode(places)) }
      bytes.append(UInt8(ascii: "}"))
    }
    return bytes + frame.dropFirst("{\"regions\":[".utf8.count)
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
    var distances: [Int: Double] = [:]
    if let near {
      distances = Dictionary(
        uniqueKeysWithValues: found.map { ($0, RegionDistance.metres(from: near, to: snapshot.regions[$0])) })
      // Ties are broken by position, so that pages do not overlap.
      found.sort { (distances[$0]!, $0) < (distances[$1]!, $1) }
    }
    var rest = found[...]
    if let cursor {
      guard let last = found.firstIndex(where: { snapshot.regions[$0].id == cursor }) else {
        throw .badRequest("cursor: the catalogue has changed; begin with the first page")
      }
      rest = found[(last + 1)...]
    }
    let page = rest.prefix(limit)
    return Results(
      regions: page, places: places, distances: distances, total: found.count,
      categories: counts.map { CategoryCount(category: $0.0, regions: $0.1) },
      nextCursor: page.count < rest.count ? page.last.map { snapshot.regions[$0].id } : nil)
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
  fileprivate func near(_ index: Int, _ place: CatalogQuery.Place, metres: Double) -> FoundNear {
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

extension CatalogQuery: CustomStringConvertible {
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

/// The distance of a region from a place.
///
/// Computed in the tangent plane at the place: exact to a thousandth for near regions, and in a sensible order for far
/// ones.
enum RegionDistance {
  /// Longitude and latitude in degrees.
  struct Place: Hashable, Sendable {
    var longitude: Double
    var latitude: Double
  }

  /// The length of a degree of a meridian on the sphere with the earth's mean radius.
  private static let metresPerDegree = 111_195.0

  /// The distance to the region's outline, or to its bounding box if it has none; 0 inside.
  ///
  /// - Complexity: O(points of the outline).
  static func metres(from place: Place, to region: Catalog.Region) -> Double {
    if let boundary = region.boundary {
      if turns(of: place).contains(where: { boundary.contains(longitude: $0.x, latitude: $0.y) }) { return 0 }
      return boundary.polygons.joined().map { metres(from: place, to: $0) }.min() ?? .infinity
    }
    let (west, south, east, north) = (
      region.bounds[0], region.bounds[1], region.bounds[2], region.bounds[3]
    )
    // A box across the antimeridian continues beyond 180 degrees.
    let eastFromWest = east < west ? east + 360 : east
    let beyond = turns(of: place).map { max(west - $0.x, $0.x - eastFromWest, 0) }.min() ?? 0
    let above = max(south - place.latitude, place.latitude - north, 0)
    return length(SIMD2(beyond, above), at: place)
  }

  /// The place, and the same place 360 degrees to either side: outlines may cross the antimeridian.
  private static func turns(of place: Place) -> [SIMD2<Double>] {
    [0.0, -360, 360].map { SIMD2(place.longitude + $0, place.latitude) }
  }

  private static func metres(from place: Place, to ring: RegionBoundary.Ring) -> Double {
    let scale = SIMD2(cosine(ofDegrees: place.latitude), 1)
    var least = Double.infinity
    guard
      let (west, east) = ring.reduce(
        nil as (Double, Double)?,
        { ends, point in
          ends.map { (min($0.0, point.x), max($0.1, point.x)) } ?? (point.x, point.x)
        })
    else { return least }
    // The nearest turn first: it usually rules out the others.
    func beyond(_ point: SIMD2<Double>) -> Double { max(west - point.x, point.x - east, 0) * scale.x }
    for point in turns(of: place).sorted(by: { beyond($0) < beyond($1) })
    where beyond(point) * beyond(point) < least {
      for (a, b) in zip(ring, ring.dropFirst()) {
        let (edge, offset) = ((b - a) * scale, (point - a) * scale)
        let square = (edge * edge).sum()
        let along = square > 0 ? min(max((offset * edge).sum() / square, 0), 1) : 0
        let rest = offset - edge * along
        least = min(least, (rest * rest).sum())
      }
    }
    return least.squareRoot() * metresPerDegree
  }

  private static func length(_ degrees: SIMD2<Double>, at place: Place) -> Double {
    let scaled = degrees * SIMD2(cosine(ofDegrees: place.latitude), 1)
    return (scaled * scaled).sum().squareRoot() * metresPerDegree
  }

  /// By its Taylor series; exact to a thousandth except near the poles.
  private static func cosine(ofDegrees degrees: Double) -> Double {
    let x = degrees * .pi / 180
    let square = x * x
    return max(0, 1 - square / 2 + square * square / 24 - square * square * square / 720)
  }
}
