import Gazetteer
import TileIndex

/// The search for places: `/{id}/places?q=&near=&limit=`.
extension TileService {
  func places(_ id: String, _ target: RequestTarget, _ exchange: Exchange) throws -> Plan {
    let layers = try layers(id)
    let query = try Self.placeQuery(target.query)
    return page(.places, lane: layers[0].lane, exchange) { exchange in
      // Of a composite, what any of its layers knows.
      let found = try layers.compactMap { try $0.places(query) }
      guard !found.isEmpty else { throw ServeError(.unknownTileset, "the tileset \(id) has no places") }
      let matches = found.count == 1 ? found[0] : query.best(of: found.flatMap { $0.map(\.place) })
      return exchange.writer(.places).document(
        PlacesDocument.document(matches), mediaType: "application/geo+json")
    }
  }

  /// - Throws: ``ServeError`` with `.badRequest`.
  private static func placeQuery(_ query: [String: String]) throws -> PlaceQuery {
    guard let text = query["q"] else { throw ServeError(.badRequest, "q, what to look for, is missing") }
    var near: PlaceQuery.Coordinate?
    if let word = query["near"], !word.isEmpty {
      let numbers = word.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
      guard numbers.count == 2, let longitude = numbers[0], let latitude = numbers[1],
        let coordinate = PlaceQuery.Coordinate(longitude: longitude, latitude: latitude)
      else { throw ServeError(.badRequest, "near is not longitude,latitude in degrees") }
      near = coordinate
    }
    var limit = PlaceQuery.limitDefault
    if let word = query["limit"], !word.isEmpty {
      guard let number = Int(word), (1...PlaceQuery.limitMax).contains(number) else {
        throw ServeError(.badRequest, "limit is not a number from 1 to \(PlaceQuery.limitMax)")
      }
      limit = number
    }
    return PlaceQuery(text, near: near, limit: limit)
  }
}
