public import Synchronization
import TileIndex

/// What eviction needs of a kept tile. It does not depend on the types of keys and values, so it is compiled once and ranks fast.
///
/// What a hit touches is constant or atomic; the rest is guarded by the lock of the cache's books. That is what the unchecked `Sendable` promises.
@usableFromInline
class KeptEntry: @unchecked Sendable {
  final let tile: TileID
  final let byteCount: Int
  /// The cache's clock at the last use.
  @usableFromInline final let lastUse: Atomic<UInt64>
  /// True: loaded ahead of need, and not wanted yet.
  @usableFromInline final let unused: Atomic<Bool>

  /// Guarded by the books: the place in their list, -1 when the tile is no longer kept.
  final var place = -1
  /// Guarded by the books: how many screens show the tile.
  final var pinCount = 0

  init(tile: TileID, byteCount: Int, now: UInt64, isUnused: Bool) {
    self.tile = tile
    self.byteCount = byteCount
    lastUse = Atomic(now)
    unused = Atomic(isUnused)
  }

  final var stamp: UInt64 { lastUse.load(ordering: .relaxed) }
  @inlinable final var isUnused: Bool { unused.load(ordering: .relaxed) }

  /// A use. Writes only what changes: threads that hit one tile again and again leave it in both their caches.
  @inlinable
  final func touch(_ now: UInt64) {
    if lastUse.load(ordering: .relaxed) != now { lastUse.store(now, ordering: .relaxed) }
  }

  /// True for the one caller that makes an unused tile a used one.
  final func takeFirstUse() -> Bool { unused.exchange(false, ordering: .relaxed) }
}

/// Some tiles of a cache, which stay alive with it.
struct KeptEntries: Sendable {
  private let entries: [KeptEntry]
  private let known: Set<ObjectIdentifier>

  init(_ entries: [KeptEntry]) {
    self.entries = entries
    known = Set(entries.map(ObjectIdentifier.init))
  }

  func has(_ entry: KeptEntry) -> Bool { known.contains(ObjectIdentifier(entry)) }
}

/// A tile in a cache.
@usableFromInline
final class KeptTile<Key: TileCacheKey, Value: Sendable>: KeptEntry, @unchecked Sendable {
  @usableFromInline let key: Key
  @usableFromInline let value: Value

  init(key: Key, value: Value, byteCount: Int, now: UInt64, isUnused: Bool) {
    self.key = key
    self.value = value
    super.init(tile: key.tile, byteCount: byteCount, now: now, isUnused: isUnused)
  }
}
