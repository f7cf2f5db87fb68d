public import TileIndex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A place that was found.
public struct PlaceMatch: Hashable, Sendable {
  public let place: Place
  /// Metres from where the searcher is, on a sphere; nil when that was not asked for.
  public let distance: Double?
}

extension PlaceQuery {
  /// The best of some places that were found for this query, in order; as many as are wanted.
  package func best(of places: [Place]) -> [PlaceMatch] { PlaceRanking(self).ranked(places) }

  /// A text as names are compared: in lower case, without marks on letters.
  package static func plain(_ text: String) -> String { PlaceRanking.plain(text) }
}

/// Puts found places in order: by how well the name fits, then by importance, and by nearness where the searcher's place is known.
///
/// The score is a sum. A name that is the query counts 1, one that begins with it 0.5, one that has it further on 0.25; importance counts up to 0.5; nearness
/// up to 0.5, half of it at 10 kilometres.
struct PlaceRanking {
  private let query: PlaceQuery
  private let wanted: String

  init(_ query: PlaceQuery) {
    self.query = query
    wanted = Self.plain(query.words.joined(separator: " "))
  }

  func ranked(_ places: [Place]) -> [PlaceMatch] {
    let scored = places.map { place in
      let distance = query.near.map { Self.metres(from: $0, to: place) }
      return (match: PlaceMatch(place: place, distance: distance), score: score(place, distance))
    }
    // A full order, so that equal queries have equal answers.
    let sorted = scored.sorted { a, b in
      a.score != b.score ? a.score > b.score : Place.precedes(a.match.place, b.match.place)
    }
    return sorted.prefix(query.limit).map(\.match)
  }

  private func score(_ place: Place, _ distance: Double?) -> Double {
    let name = Self.plain(PlaceQuery(place.name).words.joined(separator: " "))
    let fit = name == wanted ? 1 : name.hasPrefix(wanted + " ") ? 0.6 : name.hasPrefix(wanted) ? 0.5 : 0.25
    let nearness = distance.map { 0.5 / (1 + $0 / 10_000) } ?? 0
    return fit + place.importance / 2 + nearness
  }

  /// Lower case, without marks on letters: as far as comparing needs, the index has its own folding.
  fileprivate static func plain(_ text: String) -> String {
    var plain = String.UnicodeScalarView()
    for character in text.lowercased() {
      // Letter and marks lie apart in the decomposed form, which comparing strings uses but does not show; the letter's name does.
      for scalar in character.unicodeScalars where scalar.properties.canonicalCombiningClass == .notReordered {
        plain.append(base(scalar))
      }
    }
    return String(plain)
  }

  /// `é` is named LATIN SMALL LETTER E WITH ACUTE.
  private static func base(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    guard !scalar.isASCII, let name = scalar.properties.name, name.hasPrefix(letterName),
      let letter = name.dropFirst(letterName.count).split(separator: " ").first, letter.utf8.count == 1
    else { return scalar }
    return letter.lowercased().unicodeScalars.first ?? scalar
  }

  private static let letterName = "LATIN SMALL LETTER "

  /// Haversine on a sphere of 6,371 km.
  private static func metres(from a: PlaceQuery.Coordinate, to b: Place) -> Double {
    let degree = Double.pi / 180
    let latitude = sin((b.latitude - a.latitude) * degree / 2)
    let longitude = sin((b.longitude - a.longitude) * degree / 2)
    let h = latitude * latitude + cos(a.latitude * degree) * cos(b.latitude * degree) * longitude * longitude
    return 2 * 6_371_000 * asin(min(1, h.squareRoot()))
  }
}
