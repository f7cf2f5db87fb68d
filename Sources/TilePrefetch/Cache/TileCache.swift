package import MemoryPressure
package import Synchronization
import TileIndex

/// An in-memory tile cache with a hard budget, evicted by map distance and age.
///
/// - The cost of all kept tiles and of the loads in progress never exceeds the budget. Loads reserve their cost before
///   they start.
/// - Tiles on a screen (``show(_:focus:in:)``) are pinned. When they alone exceed the budget, the rest of them is
///   loaded and returned, but not kept.
/// - Concurrent requests for a tile share one load. A caller may stop waiting; a load that nobody wants is cancelled.
/// - Missing tiles of a source are remembered for a while (negative entries).
///
/// Locks: a hit takes its thread's own lock of the table for one dictionary lookup. Everything else takes the lock of
/// the state first and then, briefly, those of the table.
package final class TileCache<Key: TileCacheKey, Value: Sendable>: Sendable {
  @usableFromInline let table = CacheTable<Key, Value>()
  let state: Mutex<CacheState<Key, Value>>
  /// Counts changes, not hits, so that a hit writes nothing that other threads read.
  @usableFromInline let clock = Atomic<UInt64>(1)
  let now: @Sendable () -> Duration

  /// An empty cache.
  ///
  /// - Parameters:
  ///   - byteCountMax: the budget in bytes, or in the unit of the costs; 0 keeps nothing.
  ///   - unusedShareMax: the largest share of the unpinned budget that prefetched tiles may take before they are used.
  ///   - absentLifetime: how long a negative entry lasts.
  ///   - now: a monotonic clock; the system's unless given.
  package init(
    byteCountMax: Int, eviction: any EvictionPolicy = DistanceEviction(), unusedShareMax: Double = 0.6,
    absentLifetime: Duration = .seconds(60), now: (@Sendable () -> Duration)? = nil
  ) {
    state = Mutex(
      CacheState(
        byteCountMax: byteCountMax.asBudget, eviction: eviction, unusedShareMax: min(max(unusedShareMax, 0), 1),
        absent: AbsentTiles(lifetime: absentLifetime)))
    let start = ContinuousClock.now
    self.now = now ?? { ContinuousClock.now - start }
  }

  /// A kept tile, counted as a hit. Nil when it is not kept, which counts as nothing.
  ///
  /// - Complexity: O(1).
  @inlinable
  package func value(for key: Key) -> Value? {
    guard let hit = table.hit(key, now: clock.load(ordering: .relaxed)) else { return nil }
    if hit.isFirstUse { markUsed(key) }
    return hit.value
  }

  /// True when the tile is kept. Changes nothing.
  package func contains(_ key: Key) -> Bool { peek(key) != nil }

  /// True while there is a negative entry for the tile.
  package func isAbsent(_ key: Key) -> Bool {
    let time = now()
    return state.withLock { $0.absent.contains(key, at: time) }
  }

  /// The budget at the current memory pressure.
  package var byteCountMax: Int { state.withLock { $0.byteCountMax } }

  /// How many bytes unused prefetched tiles may take at the moment.
  package var prefetchBytesMax: Int { state.withLock { $0.unusedBytesMax } }

  /// What the cache did and holds. Takes each lock briefly.
  package var statistics: CacheStatistics {
    let hits = table.hitCount
    return state.withLock { state in
      var statistics = state.summary
      statistics.hits += hits
      return statistics
    }
  }

  // MARK: - Internals

  /// When the tile's negative entry expires, by the cache's clock; nil when there is none.
  func absenceEnd(of key: Key) -> Duration? {
    let time = now()
    return state.withLock { $0.absent.end(of: key, at: time) }
  }

  func peek(_ key: Key) -> CachedTile<Key, Value>? { table.peek(key) }

  @usableFromInline
  func markUsed(_ key: Key) {
    state.withLock { state in
      if let tile = peek(key) { state.markUsed(tile) }
    }
  }

  /// The eviction policy.
  var eviction: any EvictionPolicy { state.withLock { $0.eviction } }

  /// Advances the clock and returns it.
  func tick() -> UInt64 { clock.wrappingAdd(1, ordering: .relaxed).newValue }
}

// MARK: - Screens

extension TileCache {
  /// Sets the tiles that a screen shows: they are pinned as long as it shows them. Tiles that it no longer shows count
  /// as just used.
  ///
  /// - Parameters:
  ///   - focus: the position of the map, for eviction by distance.
  ///   - screen: a number for each map that uses the cache at the same time.
  /// - Complexity: O(tiles on the screen).
  package func show(_ keys: some Sequence<Key>, focus: MapFocus, in screen: Int = 0) {
    let keys = Set(keys)
    let now = tick()
    state.withLock { state in
      state.show(keys, in: screen, now: now, in: table)
      state.focuses[screen] = focus
      state.focusesChanged()
    }
  }

  /// Updates the position of a map whose tiles on the screen stay the same.
  package func refocus(_ focus: MapFocus, in screen: Int = 0) {
    state.withLock { state in
      state.focuses[screen] = focus
      state.focusesChanged()
    }
  }

  /// Removes a map: its tiles are unpinned.
  package func hide(screen: Int = 0) {
    let now = tick()
    state.withLock { state in
      state.show([], in: screen, now: now, in: table)
      state.screens[screen] = nil
      state.focuses[screen] = nil
      state.focusesChanged()
    }
  }
}

// MARK: - Memory

extension TileCache {
  /// Changes the budget. When it shrinks, tiles are evicted at once in the policy's order, those on a screen last.
  /// Loads in progress lose their reservation where nothing else is left to evict; their tiles are returned but not
  /// kept.
  ///
  /// Under memory pressure (``adjust(to:keeping:)``) this is the budget for when the pressure ends, and the level's
  /// share of it applies at once.
  ///
  /// - Parameter keeping: true for tiles to evict after all others except those on a screen.
  /// - Complexity: O(n log n) when it shrinks.
  package func resize(to byteCountMax: Int, keeping: (Key) -> Bool = { _ in false }) {
    let late = entries(keeping)
    state.withLock { state in
      state.byteCountFull = byteCountMax.asBudget
      state.fit(late, in: table)
    }
  }

  /// Responds to a change of the memory pressure level, which is `PressureLevel.normal` for a new cache.
  ///
  /// - Normal: the whole budget.
  /// - Warning: half of it. Prefetched tiles that were not used yet are evicted first, then those far from every
  ///   screen.
  /// - Critical: a quarter, reduced at once to the tiles on screens and the coarse zooms.
  ///
  /// - Parameter keeping: the tiles to draw when nothing else is there, which are evicted last: zooms 0 to 2 unless
  ///   given.
  /// - Complexity: O(n log n).
  package func adjust(to level: PressureLevel, keeping: (Key) -> Bool = { $0.tile.zoom <= 2 }) {
    let late = entries(keeping)
    state.withLock { state in
      state.pressure = level
      if level > .normal {
        for tile in state.tiles where tile.pinCount == 0 && (tile.isUnused || level == .critical) && !late.has(tile) {
          state.trim(tile, in: table)
        }
      }
      state.fit(late, in: table)
    }
  }

  /// The kept tiles for which a condition holds. The condition is called without the lock, so tiles that arrive
  /// meanwhile are missing.
  private func entries(_ isOne: (Key) -> Bool) -> CachedEntries {
    CachedEntries(state.withLock { $0.tiles }.filter { isOne(table.key(of: $0)) })
  }

  /// Evicts tiles in the policy's order until at most `byteCount` bytes are kept. The budget does not change, tiles on
  /// a screen stay.
  ///
  /// - Parameter keeping: true for tiles that stay whatever their cost. An app keeps the coarse zooms, so that there is
  ///   always something to draw.
  /// - Complexity: O(n log n).
  package func trim(to byteCount: Int, keeping: (Key) -> Bool = { _ in false }) {
    let late = entries(keeping)
    state.withLock { state in
      for tile in state.ranked() where !late.has(tile) {
        guard state.keptBytes > byteCount else { break }
        state.trim(tile, in: table)
      }
    }
  }

  /// Removes the prefetched tiles that have not been used yet.
  ///
  /// - Complexity: O(n).
  package func dropUnused() {
    state.withLock { state in
      for tile in state.tiles where tile.isUnused && tile.pinCount == 0 {
        state.trim(tile, in: table)
      }
    }
  }

  /// Removes a tile, and its negative entry.
  package func remove(_ key: Key) {
    state.withLock { state in
      state.absent.remove(key)
      if let tile = peek(key) { state.drop(tile, in: table) }
    }
  }

  /// Removes all tiles, also those on a screen, and all negative entries. Loads in progress continue.
  package func removeAll() {
    state.withLock { state in
      state.absent.removeAll()
      for tile in state.tiles { state.drop(tile, in: table) }
    }
  }
}
