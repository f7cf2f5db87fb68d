public import TileIndex

/// What a cache keeps tiles by: the tile alone, or with the bundle, style and size that it was drawn from.
public protocol TileCacheKey: Hashable, Sendable {
  /// Where on the map the tile lies: eviction goes by that.
  var tile: TileID { get }
}

extension TileID: TileCacheKey {
  public var tile: TileID { self }
}
