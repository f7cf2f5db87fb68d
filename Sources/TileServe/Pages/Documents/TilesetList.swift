import Support
import TileIndex

/// `/tilesets.json`: everything that the service has.
package enum TilesetList {
  /// An object with `tilesets`, and `unavailable` for bundles that are there but cannot be served now, with the reason.
  /// `modified` is in seconds since 1970.
  package static func document(
    _ infos: [TilesetInfo], failures: [(id: String, reason: String)], at address: ServiceAddress
  ) -> [UInt8] {
    JSONValue.object([
      .init("tilesets", .array(infos.map { entry($0, at: address) })),
      .init(
        "unavailable",
        .array(
          failures.map { failure in
            .object([.init("id", .string(failure.id)), .init("reason", .string(failure.reason))])
          })),
    ]).bytes
  }

  private static func entry(_ info: TilesetInfo, at address: ServiceAddress) -> JSONValue {
    let bounds = info.shownBounds
    return .object([
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
    ])
  }
}
