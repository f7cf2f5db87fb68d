package import Gazetteer
import TileIndex

/// Found places as GeoJSON (RFC 7946), the best first.
package enum PlacesDocument {
  /// A FeatureCollection of points whose properties are `name`, `kind`, `importance` and, where the search was near somewhere, `distance` in metres.
  package static func document(_ matches: [PlaceMatch]) -> [UInt8] {
    let features = matches.map { match in
      let place = match.place
      var properties: [JSONValue.Member] = [
        .init("name", .string(place.name)), .init("kind", .string(place.kind)),
        .init("importance", .number(place.importance)),
      ]
      if let distance = match.distance { properties.append(.init("distance", .number(distance.rounded()))) }
      return JSONValue.object([
        .init("type", .string("Feature")),
        .init(
          "geometry",
          .object([
            .init("type", .string("Point")), .init("coordinates", .numbers(place.longitude, place.latitude)),
          ])),
        .init("properties", .object(properties)),
      ])
    }
    return JSONValue.object([.init("type", .string("FeatureCollection")), .init("features", .array(features))]).bytes
  }
}
