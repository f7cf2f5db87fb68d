import TileIndex

/// A request as the prefetcher sees it: who wants which tile of what.
struct PrefetchWish: Sendable {
  /// A number for the client's address.
  var client: Int
  var layers: [Tileset]
  var policies: [MissingTilePolicy]
  var tile: TileID
  var scale: Int
  var format: TileFormat?

  /// Tells one client's maps apart.
  struct Map: Hashable, Sendable {
    var client: Int
    var layers: [ObjectIdentifier]
    var scale: Int
    var format: TileFormat?
  }

  var map: Map { Map(client: client, layers: layers.map(ObjectIdentifier.init), scale: scale, format: format) }

  /// The same map's query for a tile.
  ///
  /// - Parameter sources: in place of the layers.
  func query(_ tile: TileID, from sources: [any TileSource]? = nil) -> TileQuery {
    TileQuery(layers: sources ?? layers, policies: policies, tile: tile, scale: scale, format: format)
  }

  /// True where a tile of this map takes time, so that it pays to have it before it is asked for: it is drawn, or far away, or on a slow disk.
  ///
  /// - Parameter info: what is known of the lowest layer.
  func takesTime(_ tile: TileID, _ info: TilesetInfo) -> Bool {
    if needsDrawing(tile, info) { return true }
    return layers.contains { $0.fetchesAhead || $0.isSlow }
  }

  /// True where a tile is not handed out as it is stored, as far as that can be told without looking for it.
  func needsDrawing(_ tile: TileID, _ info: TilesetInfo) -> Bool {
    if layers.count > 1 { return true }
    if let format, format != info.format { return true }
    if scale == 2 { return info.tilePixels < 2 * info.matrixSet[tile.zoom].tileWidth }
    return tile.zoom > info.zooms.upperBound && policies[0] == .overzoom
  }
}
