public import Synchronization
public import TileIndex

/// The key of a cached tile: the tile alone, or with the bundle, style and size that it was rendered from.
public protocol TileCacheKey: Hashable, Sendable {
  /// The tile's position on the map, for eviction by distance.
  var tile: TileID { get }
}

extension TileID: TileCacheKey {
  public var tile: TileID { self }
}

/// The part of a kept tile that eviction needs. It does not depend on the key and value types, so ranking is compiled
/// once, unspecialised.
///
/// What a hit touches is constant or atomic. The rest is guarded by the cache's lock. This makes the unchecked
/// `Sendable` valid.
@usableFromInline
class CachedEntry: @unchecked Sendable {
  final let tile: TileID
  final let byteCount: Int
  /// The cache's clock at the last use.
  @usableFromInline final let lastUse: Atomic<UInt64>
  /// True for a prefetched tile that has not been used yet.
  @usableFromInline final let unused: Atomic<Bool>

  /// The index in `CacheState.tiles`, -1 when the tile is no longer kept. Guarded by the cache's lock.
  final var place = -1
  /// How many screens show the tile. Guarded by the cache's lock.
  final var pinCount = 0

  init(tile: TileID, byteCount: Int, now: UInt64, isUnused: Bool) {
    self.tile = tile
    self.byteCount = byteCount
    lastUse = Atomic(now)
    unused = Atomic(isUnused)
  }

  final var stamp: UInt64 { lastUse.load(ordering: .relaxed) }
  @inlinable final var isUnused: Bool { unused.load(ordering: .relaxed) }

  /// Records a use. Writes only if the value changes, so that threads which hit the same tile repeatedly do not contend
  /// for its cache line.
  @inlinable
  final func touch(_ now: UInt64) {
    if lastUse.load(ordering: .relaxed) != now { lastUse.store(now, ordering: .relaxed) }
  }

  /// True for the one caller that makes an unused tile a used one.
  final func takeFirstUse() -> Bool { unused.exchange(false, ordering: .relaxed) }
}

/// A set of kept tiles, which stay alive with it.
struct CachedEntries: Sendable {
  private let entries: [CachedEntry]
  private let known: Set<ObjectIdentifier>

  init(_ entries: [CachedEntry]) {
    self.entries = entries
    known = Set(entries.map(ObjectIdentifier.init))
  }

  func has(_ entry: CachedEntry) -> Bool { known.contains(ObjectIdentifier(entry)) }
}

/// A tile in a cache. It outlives its stay there, as a candidate for eviction; its value does not.
@usableFromInline
final class CachedTile<Key: TileCacheKey, Value: Sendable>: CachedEntry, @unchecked Sendable {
  @usableFromInline let key: Key
  /// Nil when the tile is no longer kept. Changed under the cache's lock and all locks of the table.
  @usableFromInline var value: Value?

  init(key: Key, value: Value, byteCount: Int, now: UInt64, isUnused: Bool) {
    self.key = key
    self.value = value
    super.init(tile: key.tile, byteCount: byteCount, now: now, isUnused: isUnused)
  }
}
