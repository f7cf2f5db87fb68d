import Support
import TileIndex

/// The `vector_layers` that a vector bundle's `json` metadata names (MBTiles 1.3, "Vector tileset metadata").
enum VectorLayers {
  /// The layers as TileJSON wants them (section 3.3): each with an `id` and `fields`. Nil for raster tilesets that name none;
  /// empty for vector tilesets that name none, since TileJSON requires the member there.
  static func of(_ info: TilesetInfo) -> JSONValue? {
    // Some tools keep the member as a row of its own.
    let stored =
      info.metadata.json.flatMap { try? JSONValue(parsing: Array($0.utf8), duplicates: .lastWins) }?["vector_layers"]
      ?? info.metadata["vector_layers"].flatMap { try? JSONValue(parsing: Array($0.utf8), duplicates: .lastWins) }
    guard let layers = stored?.array else { return info.isRaster ? nil : .array([]) }
    return .array(layers.compactMap(completed))
  }

  /// The ids alone.
  static func names(of info: TilesetInfo) -> [String] { of(info)?.array?.compactMap { $0["id"]?.string } ?? [] }

  private static func completed(_ layer: JSONValue) -> JSONValue? {
    guard let members = layer.members, layer["id"]?.string != nil else { return nil }
    return layer["fields"]?.members == nil
      ? .object(members.filter { $0.name != "fields" } + [.init("fields", .object([]))]) : layer
  }
}
