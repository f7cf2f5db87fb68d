import Support
package import TileIndex

/// `/tilesets.json`: all tilesets.
package enum TilesetList {
  /// An object with `tilesets`, and `unavailable` for bundles that exist but cannot be served now, with the reason.
  /// `modified` is in seconds since 1970. `warnings` says what makes a tileset slow; most have none.
  ///
  /// - Parameter warning: the text of a warning.
  package static func document(
    _ infos: [TilesetInfo], failures: [(id: String, reason: String)], at address: ServiceAddress,
    warning: (BundleError) -> String = \.description
  ) -> [UInt8] {
    JSONValue.object([
      .init("tilesets", .array(infos.map { entry($0, at: address, warning: warning) })),
      .init(
        "unavailable",
        .array(
          failures.map { failure in
            .object([.init("id", .string(failure.id)), .init("reason", .string(failure.reason))])
          })),
    ]).bytes
  }

  private static func entry(
    _ info: TilesetInfo, at address: ServiceAddress, warning: (BundleError) -> String
  ) -> JSONValue {
    let bounds = info.shownBounds
    return .object(
      [
        .init("id", .string(info.id)),
        .init("name", .string(info.name)),
        .init("tilejson", .string(address.url(ServicePaths.tileJSON(info.id)))),
        .init("viewer", .string(address.url(ServicePaths.viewer(info.id)))),
        .init("format", .string(info.format.rawValue)),
        .init("minzoom", .number(info.zooms.lowerBound)),
        .init("maxzoom", .number(info.zooms.upperBound)),
        .init("bounds", .numbers(bounds.west, bounds.south, bounds.east, bounds.north)),
        .init("tileMatrixSet", .string(info.matrixSet.identifier)),
        .init("modified", .number(info.modified)),
      ] + (info.warnings.isEmpty ? [] : [.init("warnings", .array(info.warnings.map { .string(warning($0)) }))]))
  }
}

/// Found places as GeoJSON (RFC 7946), the best first.
package enum PlacesDocument {
  /// A FeatureCollection of points whose properties are `name`, `kind`, `importance` and, where the search was near
  /// somewhere, `distance` in metres.
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
