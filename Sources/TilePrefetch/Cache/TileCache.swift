public import Synchronization
import TileIndex

/// Tiles in memory within a hard budget, let go by map distance and age.
///
/// - The cost of all kept tiles and of the loads under way never exceeds the budget. Loads reserve theirs before they begin.
/// - Tiles on a screen (``show(_:focus:in:)``) stay. When they alone exceed the budget, the rest of them is loaded and handed out, but not kept.
/// - What several want at the same time is loaded once. Who waits may leave; a load that nobody wants is cancelled.
/// - That a source does not have a tile is kept too, for a while.
///
/// Locks: a hit takes one that is its thread's alone, for the time of one look into a dictionary. All else takes the lock of the books first and then, briefly, those of the table.
public final class TileCache<Key: TileCacheKey, Value: Sendable>: Sendable {
  @usableFromInline let table = CacheTable<Key, Value>()
  let books: Mutex<CacheBooks<Key, Value>>
  /// Counts changes, not hits: so a hit writes nothing that others read.
  @usableFromInline let clock = Atomic<UInt64>(1)
  let now: @Sendable () -> Duration

  /// - Parameters:
  ///   - byteCountMax: the budget in bytes, or whatever unit the costs have; 0 keeps nothing.
  ///   - unusedShareMax: tiles loaded ahead of need and not wanted yet take at most this share of what the screen leaves free of the budget.
  ///   - absentLifetime: how long it is believed that a source does not have a tile.
  ///   - now: a clock that never goes back; the system's unless given.
  public init(
    byteCountMax: Int, eviction: any EvictionPolicy = DistanceEviction(), unusedShareMax: Double = 0.6,
    absentLifetime: Duration = .seconds(60), now: (@Sendable () -> Duration)? = nil
  ) {
    books = Mutex(
      CacheBooks(
        byteCountMax: max(byteCountMax, 0), eviction: eviction, unusedShareMax: unusedShareMax,
        absent: AbsentTiles(lifetime: absentLifetime)))
    let start = ContinuousClock.now
    self.now = now ?? { ContinuousClock.now - start }
  }

  /// A tile that is there already; counts as a hit, and not at all when it is not there.
  ///
  /// - Complexity: O(1).
  @inlinable
  public func value(for key: Key) -> Value? {
    guard let hit = table.hit(key, now: clock.load(ordering: .relaxed)) else { return nil }
    if hit.isFirstUse { markUsed(key) }
    return hit.value
  }

  /// True when the tile is kept; changes nothing.
  public func contains(_ key: Key) -> Bool { peek(key) != nil }

  /// True when the source was found not to have the tile, not long ago.
  public func isAbsent(_ key: Key) -> Bool {
    let time = now()
    return books.withLock { $0.absent.contains(key, at: time) }
  }

  /// Until when it is believed, by the cache's clock, that the source does not have the tile; nil when it is not.
  func absenceEnd(of key: Key) -> Duration? {
    let time = now()
    return books.withLock { $0.absent.end(of: key, at: time) }
  }

  func peek(_ key: Key) -> KeptTile<Key, Value>? { table.peek(key) }

  /// Puts a tile in the table; the caller keeps it alive until it is withdrawn.
  func publish(_ tile: KeptTile<Key, Value>) { table.set(tile, for: tile.key) }

  /// Takes a tile out of the table. The books hold entries of no particular type, all of which this cache made.
  func withdraw(_ entry: KeptEntry) { table.set(nil, for: key(of: entry)) }

  func key(of entry: KeptEntry) -> Key { unsafeDowncast(entry, to: KeptTile<Key, Value>.self).key }

  @usableFromInline
  func markUsed(_ key: Key) {
    books.withLock { books in
      if let tile = peek(key) { books.markUsed(tile) }
    }
  }

  /// The order in which tiles go.
  var eviction: any EvictionPolicy { books.withLock { $0.eviction } }

  /// The budget, as memory pressure leaves it.
  public var byteCountMax: Int { books.withLock { $0.byteCountMax } }

  /// How many bytes tiles loaded ahead of need may take at the moment.
  public var prefetchBytesMax: Int { books.withLock { $0.unusedBytesMax } }

  /// What the cache did and holds. Takes each lock for a moment.
  public var statistics: CacheStatistics {
    let hits = table.hitCount
    return books.withLock { books in
      var statistics = books.summary
      statistics.hits += hits
      return statistics
    }
  }

  /// The clock, one further.
  func tick() -> UInt64 { clock.wrappingAdd(1, ordering: .relaxed).newValue }
}
