import LibC

/// A search for places. Any text is valid: nothing in it is interpreted as query syntax.
public struct PlaceQuery: Hashable, Sendable {
  /// Degrees.
  public struct Coordinate: Hashable, Sendable {
    /// Degrees.
    public var longitude: Double
    /// Degrees.
    public var latitude: Double

    /// Nil for invalid coordinates. Longitudes may be a turn beyond ±180, as those of a map that was moved over it.
    public init?(longitude: Double, latitude: Double) {
      guard abs(longitude) <= 540, abs(latitude) <= 90 else { return nil }
      (self.longitude, self.latitude) = (TileMatrixSet.wrapped(longitude), latitude)
    }
  }

  /// The words or their beginnings, as typed.
  public var text: String
  /// The user's position or map centre; nearer places rank higher.
  public var near: Coordinate?
  /// The maximum number of results, from 1 to `limitMax`.
  public var limit: Int

  /// The most results of a query.
  package static let limitMax = 100
  /// The results of a query that names no number.
  public static let limitDefault = 10

  /// A query; results near a position come first where one is given.
  public init(_ text: String, near: Coordinate? = nil, limit: Int = PlaceQuery.limitDefault) {
    self.text = text
    self.near = near
    self.limit = min(max(limit, 1), Self.limitMax)
  }

  /// Limits the work of a query; names are shorter.
  private static let textBytesMax = 200
  private static let wordsMax = 8

  /// The words: runs of letters, digits and combining marks.
  var words: [String] {
    Self.words(of: String(decoding: text.utf8.prefix(Self.textBytesMax), as: UTF8.self)).prefix(Self.wordsMax).map {
      $0
    }
  }

  package static func words(of text: String) -> [String] {
    PlaceWords.written(in: text).map { String($0) }
  }

  /// The words as ``PlaceWords`` folds them; one that is several, as in scripts without spaces, is a phrase.
  var folded: [String] { words.map(PlaceWords.joined).filter { !$0.isEmpty } }

  /// The query in FTS5 syntax: all words whole, and with the last as a prefix; nil when there are no words. Also as
  /// written, for bundles whose index was not folded.
  var match: (whole: String, beginning: String)? {
    func quoted(_ words: [String]) -> String { words.map { "\"\($0)\"" }.joined(separator: " ") }
    let ways = [folded, words].filter { !$0.isEmpty }.map(quoted)
    guard let first = ways.first else { return nil }
    let all = ways.count == 1 || ways[1] == first ? [first] : ways
    return (
      all.map { "(\($0))" }.joined(separator: " OR "), all.map { "(\($0)*)" }.joined(separator: " OR ")
    )
  }
}

/// A search result.
public struct PlaceMatch: Hashable, Sendable {
  /// The place that was found.
  public let place: Place
  /// Metres from the query's position, on a sphere; nil without one.
  public let distance: Double?
}

extension PlaceQuery {
  /// The best of the places found for this query, in order, at most ``limit``.
  package func best(of places: [Place]) -> [PlaceMatch] { PlaceRanking(self).ranked(places) }

  /// A text normalised for comparison: lower case, without diacritics.
  package static func plain(_ text: String) -> String { PlaceWords.folded(text) }
}

/// Ranks places: by how well the name matches, by importance, and by nearness if the query has a position.
///
/// The score is a sum. A name equal to the query counts 1, one that begins with its words 0.6, one that begins with its
/// text 0.5, any other 0.25; importance counts up to 0.5; nearness up to 0.5, half of it at 10 kilometres.
struct PlaceRanking {
  private let query: PlaceQuery
  private let wanted: String

  init(_ query: PlaceQuery) {
    self.query = query
    wanted = query.folded.joined(separator: " ")
  }

  func ranked(_ places: [Place]) -> [PlaceMatch] {
    let scored = places.map { place in
      let distance = query.near.map { Self.metres(from: $0, to: place) }
      return (match: PlaceMatch(place: place, distance: distance), score: score(place, distance))
    }
    // A total order, so that equal queries have equal results.
    let sorted = scored.sorted { a, b in
      a.score != b.score ? a.score > b.score : Place.precedes(a.match.place, b.match.place)
    }
    return sorted.prefix(query.limit).map(\.match)
  }

  private func score(_ place: Place, _ distance: Double?) -> Double {
    func fit(_ name: String) -> Double {
      name == wanted ? 1 : name.hasPrefix(wanted + " ") ? 0.6 : name.hasPrefix(wanted) ? 0.5 : 0.25
    }
    let fit = max(fit(PlaceWords.joined(place.name)), fit(PlaceWords.joinedWithoutApostrophes(place.name)))
    let nearness = distance.map { 0.5 / (1 + $0 / 10_000) } ?? 0
    return fit + place.importance / 2 + nearness
  }

  /// Haversine distance on a sphere of 6,371 km.
  private static func metres(from a: PlaceQuery.Coordinate, to b: Place) -> Double {
    let degree = Double.pi / 180
    let latitude = sin((b.latitude - a.latitude) * degree / 2)
    let longitude = sin((b.longitude - a.longitude) * degree / 2)
    let h = latitude * latitude + cos(a.latitude * degree) * cos(b.latitude * degree) * longitude * longitude
    return 2 * 6_371_000 * asin(min(1, h.squareRoot()))
  }
}
