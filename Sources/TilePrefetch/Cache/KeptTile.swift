public import Synchronization

/// A tile in a cache.
///
/// What a hit touches is constant or atomic; the rest is guarded by the lock of the cache's books. That is what the unchecked `Sendable` promises.
@usableFromInline
final class KeptTile<Key: TileCacheKey, Value: Sendable>: @unchecked Sendable {
  @usableFromInline let key: Key
  @usableFromInline let value: Value
  let byteCount: Int

  /// The cache's clock at the last use.
  @usableFromInline let lastUse: Atomic<UInt64>
  /// True: loaded ahead of need, and not wanted yet.
  @usableFromInline let isUnused: Atomic<Bool>

  /// Guarded by the books: the place in their list, -1 when the tile is no longer kept.
  var place = -1
  /// Guarded by the books: how many screens show the tile.
  var pinCount = 0

  init(key: Key, value: Value, byteCount: Int, now: UInt64, isUnused: Bool) {
    self.key = key
    self.value = value
    self.byteCount = byteCount
    lastUse = Atomic(now)
    self.isUnused = Atomic(isUnused)
  }
}
