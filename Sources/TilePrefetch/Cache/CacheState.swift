import MemoryPressure

/// A cache's state behind its lock: bytes, loads, screens and the order of eviction.
struct CacheState<Key: TileCacheKey, Value: Sendable> {
  typealias Table = CacheTable<Key, Value>

  /// The budget without memory pressure.
  var byteCountFull: Int
  var pressure = PressureLevel.normal
  let eviction: any EvictionPolicy
  let unusedShareMax: Double
  var absent: AbsentTiles<Key>

  /// All kept tiles, unordered. Each knows its index.
  private(set) var tiles: [CachedEntry] = []
  private(set) var keptBytes = 0
  private(set) var pinnedBytes = 0
  private(set) var unusedBytes = 0
  var reservedBytes = 0
  /// The part of ``reservedBytes`` that prefetch loads hold.
  var reservedAheadBytes = 0
  /// The loads that a later request can join.
  var pending: [Key: TileLoad<Key, Value>] = [:]
  /// All loads that have not ended, also cancelled ones that were replaced by others.
  var underWay: [ObjectIdentifier: TileLoad<Key, Value>] = [:]
  var statistics = CacheStatistics()

  /// The tiles that each screen shows.
  var screens: [Int: Set<Key>] = [:]
  private var pins: [Key: Int] = [:]
  var focuses: [Int: MapFocus] = [:]
  private var victims = VictimQueue()

  init(byteCountMax: Int, eviction: any EvictionPolicy, unusedShareMax: Double, absent: AbsentTiles<Key>) {
    byteCountFull = byteCountMax
    self.eviction = eviction
    self.unusedShareMax = unusedShareMax
    self.absent = absent
  }

  /// The budget at the current memory pressure.
  var byteCountMax: Int {
    switch pressure {
    case .normal: byteCountFull
    case .warning: byteCountFull / 2
    case .critical: byteCountFull / 4
    }
  }

  var summary: CacheStatistics {
    var summary = statistics
    summary.entries = tiles.count
    summary.bytes = keptBytes
    summary.reservedBytes = reservedBytes
    summary.pinnedBytes = pinnedBytes
    summary.unusedBytes = unusedBytes
    return summary
  }

  /// The limit for prefetched tiles that have not been used yet.
  var unusedBytesMax: Int { Int(unusedShareMax * Double(max(0, byteCountMax - pinnedBytes))) }

  mutating func focusesChanged() { victims.mapMoved(tileCount: tiles.count) }

  /// Updates the peak. Must be called whenever bytes were kept or reserved.
  mutating func noteUse() { statistics.bytesPeak = max(statistics.bytesPeak, keptBytes + reservedBytes) }
}

// MARK: - Keeping and evicting

extension CacheState {
  mutating func keep(
    _ key: Key, _ value: Value, byteCount: Int, isUnused: Bool, tick: UInt64, in table: borrowing Table
  ) {
    let tile = CachedTile(key: key, value: value, byteCount: byteCount, now: tick, isUnused: isUnused)
    tile.place = tiles.count
    tile.pinCount = pins[key] ?? 0
    tiles.append(tile)
    keptBytes += byteCount
    if isUnused {
      unusedBytes += byteCount
      victims.keptAhead(tile, eviction: eviction, focuses: Array(focuses.values))
    }
    if tile.pinCount > 0 { pinnedBytes += byteCount }
    noteUse()
    table.publish(tile)
  }

  mutating func drop(_ tile: CachedEntry, in table: borrowing Table) {
    guard tile.place >= 0 else { return }
    table.withdraw(tile)
    keptBytes -= tile.byteCount
    if tile.pinCount > 0 { pinnedBytes -= tile.byteCount }
    if tile.isUnused { unusedBytes -= tile.byteCount }
    let last = tiles.removeLast()
    if last !== tile {
      tiles[tile.place] = last
      last.place = tile.place
    }
    tile.place = -1
  }

  /// Removes a tile to make room for others.
  private mutating func evict(_ tile: CachedEntry, in table: borrowing Table) {
    drop(tile, in: table)
    statistics.evictions += 1
  }

  /// Removes a tile to give memory back.
  mutating func trim(_ tile: CachedEntry, in table: borrowing Table) {
    guard tile.place >= 0 else { return }
    drop(tile, in: table)
    statistics.trims += 1
  }

  mutating func markUsed(_ tile: CachedEntry) {
    guard tile.takeFirstUse() else { return }
    statistics.prefetchesUsed += 1
    if tile.place >= 0 { unusedBytes -= tile.byteCount }
  }

  /// Evicts tiles until `byteCount` more bytes fit. False when evicting all candidates is not enough; some are gone
  /// then.
  mutating func makeRoom(_ byteCount: Int, in table: borrowing Table) -> Bool {
    while byteCount > byteCountMax - keptBytes - reservedBytes {
      // Nothing is evicted when evicting everything would not be enough.
      guard byteCount <= byteCountMax - pinnedBytes - reservedBytes, let victim = nextVictim() else { return false }
      evict(victim, in: table)
    }
    return true
  }

  /// Evicts tiles for a prefetched one: only tiles of less value, and only within the limit for unused prefetched
  /// tiles.
  mutating func makeRoomAhead(_ key: Key, _ byteCount: Int, in table: borrowing Table) -> Bool {
    let rank = eviction.rank(of: key.tile, age: 0, focuses: Array(focuses.values))
    while byteCount > unusedBytesMax - unusedBytes - reservedAheadBytes {
      guard let victim = nextVictim(onlyUnused: true, above: rank) else { return false }
      evict(victim, in: table)
    }
    while byteCount > byteCountMax - keptBytes - reservedBytes {
      guard let victim = nextVictim(above: rank) else { return false }
      evict(victim, in: table)
    }
    return true
  }

  private mutating func nextVictim(
    onlyUnused: Bool = false, above rank: Double = -.infinity
  ) -> CachedEntry? {
    victims.next(
      of: tiles, eviction: eviction, focuses: Array(focuses.values), onlyUnused: onlyUnused, above: rank)
  }

  /// The tiles on no screen, those to evict first at the front.
  func ranked() -> [CachedEntry] {
    VictimQueue.rank(tiles.filter { $0.pinCount == 0 }, eviction, Array(focuses.values)).map(\.tile)
  }

  /// Removes tiles until the budget holds: the `late` ones after the others, pinned ones last. Then takes reservations
  /// back.
  mutating func fit(_ late: CachedEntries, in table: borrowing Table) {
    if keptBytes + reservedBytes > byteCountMax {
      let ranked = ranked()
      let order = ranked.filter { !late.has($0) } + ranked.filter(late.has) + tiles.filter { $0.pinCount > 0 }
      for tile in order where keptBytes + reservedBytes > byteCountMax { trim(tile, in: table) }
    }
    dropReservations()
  }
}

// MARK: - Screens

extension CacheState {
  mutating func show(_ keys: Set<Key>, in screen: Int, now: UInt64, in table: borrowing Table) {
    let before = screens[screen] ?? []
    screens[screen] = keys
    for key in before where !keys.contains(key) {
      let count = (pins[key] ?? 1) - 1
      pins[key] = count == 0 ? nil : count
      guard let tile = table.peek(key) else { continue }
      tile.pinCount = count
      tile.touch(now)
      if count == 0 { pinnedBytes -= tile.byteCount }
    }
    for key in keys where !before.contains(key) {
      pins[key, default: 0] += 1
      guard let tile = table.peek(key) else { continue }
      tile.pinCount += 1
      if tile.pinCount == 1 { pinnedBytes += tile.byteCount }
    }
  }

  /// True when a screen shows the tile.
  func isShown(_ key: Key) -> Bool { pins[key] != nil }
}

// MARK: - Statistics

/// What a cache has done since it was made, and what it holds.
package struct CacheStatistics: Hashable, Sendable {
  /// Requests for tiles that were kept.
  package var hits = 0
  /// Loads that were started on demand.
  package var misses = 0
  /// Requests that joined a load in progress; neither hits nor misses.
  package var joined = 0
  /// Requests that a negative entry answered.
  package var absentHits = 0
  /// Prefetch loads that were started.
  package var prefetches = 0
  /// Of these, how many were requested later, or while they were loading.
  package var prefetchesUsed = 0
  /// Loads that were refused for lack of room: prefetches, and what a `MapSession` shows.
  package var refusals = 0
  /// Loads that failed or were cancelled.
  package var failures = 0
  /// Tiles that were loaded and returned but not kept, because the tiles on the screen fill the budget.
  package var uncached = 0
  /// Tiles that were removed to make room for others.
  package var evictions = 0
  /// Tiles that were removed to give memory back: a smaller budget, ``TileCache/trim(to:keeping:)``,
  /// ``TileCache/dropUnused()``, memory pressure. Replaced and removed tiles count in neither.
  package var trims = 0
  /// Tiles kept now.
  package var entries = 0
  /// Their cost.
  package var bytes = 0
  /// The cost that loads in progress have reserved.
  package var reservedBytes = 0
  /// The cost of the kept tiles that are on a screen.
  package var pinnedBytes = 0
  /// The cost of the prefetched tiles that have not been used yet.
  package var unusedBytes = 0
  /// The highest sum of ``bytes`` and ``reservedBytes`` so far.
  package var bytesPeak = 0

  /// Nothing counted yet.
  package init() {}
}

extension Int {
  /// A tile's cost as it is counted: of any number that a caller gives, so that sums of them do not overflow.
  var asCost: Int { Swift.min(Swift.max(self, 0), 1 << 48) }
  /// A budget, of any number that a caller gives.
  var asBudget: Int { Swift.min(Swift.max(self, 0), 1 << 62) }
}
