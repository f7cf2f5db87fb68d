package import TileIndex

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
