package import TileIndex
package import TilePrefetch

/// The tiles that took drawing (composites, enlarged, joined and re-encoded tiles) or waiting (a slow disk's).
///
/// Tiles that are handed out as stored do not come here: the system keeps their pages. What several threads want at the same time is drawn once.
package typealias DrawnTileCache = TileCache<DrawnTileKey, Tile>

/// All that a drawn tile depends on.
package struct DrawnTileKey: TileCacheKey {
  /// One for each layer, the lowest first.
  var revisions: [SourceRevision]
  /// One for each layer: they decide what stands where a layer has no tile.
  var policies: [MissingTilePolicy]
  package var tile: TileID
  var scale: Int
  /// Nil: as the tileset stores its tiles.
  var format: TileFormat?

  /// What keeping a tile under this key takes beside the tile's own bytes: the entry and its places in the tables, and the headers of three arrays.
  var byteCount: Int { 400 + revisions.count * MemoryLayout<SourceRevision>.stride + policies.count }
}

extension DrawnTileKey {
  /// What is reserved for a tile before it is drawn, with its key. Larger ones are kept where there is room.
  static let reservedBytes = 32 << 10
}
