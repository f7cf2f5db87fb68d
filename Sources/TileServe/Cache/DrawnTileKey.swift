import TileIndex

/// All that a drawn tile depends on.
struct DrawnTileKey: Hashable, Sendable {
  /// One for each layer, the lowest first.
  var revisions: [SourceRevision]
  /// One for each layer: they decide what stands where a layer has no tile.
  var policies: [MissingTilePolicy]
  var tile: TileID
  var scale: Int
  /// Nil: as the tileset stores its tiles.
  var format: TileFormat?

  /// What keeping a tile under this key takes beside the tile's own bytes: the entry and its place in the table, and the headers of three arrays.
  var byteCount: Int { 320 + revisions.count * MemoryLayout<SourceRevision>.stride + policies.count }
}
