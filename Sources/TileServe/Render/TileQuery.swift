package import TileIndex
package import TilePrefetch

/// Which tile of which layers, and how it is wanted.
package struct TileQuery: Sendable {
  /// One for a tileset's own tiles; several are drawn over each other, the lowest first.
  package var layers: [any TileSource]
  /// What happens where a layer has no tile; one for each layer.
  package var policies: [MissingTilePolicy]
  /// A tile of the layers' grid.
  package var tile: TileID
  /// 1, or 2 for `@2x`: twice the pixels along each edge.
  package var scale: Int
  /// Nil: as stored.
  package var format: TileFormat?

  package init(
    layers: [any TileSource], policies: [MissingTilePolicy], tile: TileID, scale: Int = 1, format: TileFormat? = nil
  ) {
    self.layers = layers
    self.policies = policies
    self.tile = tile
    self.scale = scale
    self.format = format
  }
}

/// What became of a query.
package enum TileAnswer: Hashable, Sendable {
  case tile(Tile)
  /// Drawn from what is kept of another server's tiles, because that one does not answer: not to be kept by anybody.
  case standIn(Tile)
  /// Nothing: `notFound` or `noContent`, the others are answered as tiles.
  case missing(MissingTilePolicy)
}

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
