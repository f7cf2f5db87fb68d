import MemoryPressure

/// What a cache keeps account of, all under one lock: bytes, loads, screens, and the order of eviction.
struct CacheBooks<Key: TileCacheKey, Value: Sendable> {
  typealias Cache = TileCache<Key, Value>

  /// The budget while there is enough memory.
  var byteCountFull: Int
  var pressure = PressureLevel.normal
  let eviction: any EvictionPolicy
  let unusedShareMax: Double
  var absent: AbsentTiles<Key>

  /// All kept tiles, in no order; each knows its place.
  private(set) var tiles: [KeptEntry] = []
  private(set) var keptBytes = 0
  private(set) var pinnedBytes = 0
  private(set) var unusedBytes = 0
  var reservedBytes = 0
  /// The part of ``reservedBytes`` that loads ahead of need have.
  var reservedAheadBytes = 0
  /// The loads that a wish can join.
  var pending: [Key: TileLoad<Key, Value>] = [:]
  /// All loads that are not over: also cancelled ones, in whose place others began.
  var underWay: [ObjectIdentifier: TileLoad<Key, Value>] = [:]
  var statistics = CacheStatistics()

  /// What each screen shows.
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

  /// The budget now.
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

  /// What tiles loaded ahead of need may take.
  var unusedBytesMax: Int { Int(unusedShareMax * Double(max(0, byteCountMax - pinnedBytes))) }

  mutating func focusesChanged() { victims.mapMoved(tileCount: tiles.count) }

  /// Notes the peak: to be called whenever bytes were kept or reserved.
  mutating func noteUse() { statistics.bytesPeak = max(statistics.bytesPeak, keptBytes + reservedBytes) }
}

// MARK: - Keeping and letting go

extension CacheBooks {
  mutating func keep(_ key: Key, _ value: Value, byteCount: Int, isUnused: Bool, tick: UInt64, in cache: Cache) {
    let tile = KeptTile(key: key, value: value, byteCount: byteCount, now: tick, isUnused: isUnused)
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
    cache.publish(tile)
  }

  mutating func drop(_ tile: KeptEntry, in cache: Cache) {
    guard tile.place >= 0 else { return }
    cache.withdraw(tile)
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

  /// Makes room for others.
  private mutating func evict(_ tile: KeptEntry, in cache: Cache) {
    drop(tile, in: cache)
    statistics.evictions += 1
  }

  /// Gives memory back.
  mutating func trim(_ tile: KeptEntry, in cache: Cache) {
    guard tile.place >= 0 else { return }
    drop(tile, in: cache)
    statistics.trims += 1
  }

  mutating func markUsed(_ tile: KeptEntry) {
    guard tile.takeFirstUse() else { return }
    statistics.prefetchesUsed += 1
    if tile.place >= 0 { unusedBytes -= tile.byteCount }
  }

  /// Lets tiles go until so many more bytes fit; false when those that may go do not suffice (some are gone then).
  mutating func makeRoom(_ byteCount: Int, in cache: Cache) -> Bool {
    while keptBytes + reservedBytes + byteCount > byteCountMax {
      // Not one goes when all of them would not do.
      guard pinnedBytes + reservedBytes + byteCount <= byteCountMax, let victim = nextVictim() else { return false }
      evict(victim, in: cache)
    }
    return true
  }

  /// Lets tiles go for one that is loaded ahead of need: only such as are worth less, and only within the share for such tiles.
  mutating func makeRoomAhead(_ key: Key, _ byteCount: Int, in cache: Cache) -> Bool {
    let rank = eviction.rank(of: key.tile, age: 0, focuses: Array(focuses.values))
    while unusedBytes + reservedAheadBytes + byteCount > unusedBytesMax {
      guard let victim = nextVictim(onlyUnused: true, above: rank) else { return false }
      evict(victim, in: cache)
    }
    while keptBytes + reservedBytes + byteCount > byteCountMax {
      guard let victim = nextVictim(above: rank) else { return false }
      evict(victim, in: cache)
    }
    return true
  }

  private mutating func nextVictim(
    onlyUnused: Bool = false, above rank: Double = -.infinity
  ) -> KeptEntry? {
    victims.next(
      of: tiles, eviction: eviction, focuses: Array(focuses.values), onlyUnused: onlyUnused, above: rank)
  }

  /// The tiles on no screen, those to go first at the front.
  func ranked() -> [KeptEntry] {
    VictimQueue.rank(tiles.filter { $0.pinCount == 0 }, eviction, Array(focuses.values)).map(\.tile)
  }

  /// Lets go until the budget holds: some of the tiles late, those on screens last of all, and then of reservations.
  mutating func fit(_ late: KeptEntries, in cache: Cache) {
    if keptBytes + reservedBytes > byteCountMax {
      let ranked = ranked()
      let order = ranked.filter { !late.has($0) } + ranked.filter(late.has) + tiles.filter { $0.pinCount > 0 }
      for tile in order where keptBytes + reservedBytes > byteCountMax { trim(tile, in: cache) }
    }
    dropReservations()
  }
}

// MARK: - Screens

extension CacheBooks {
  mutating func show(_ keys: Set<Key>, in screen: Int, now: UInt64, cache: Cache) {
    let before = screens[screen] ?? []
    screens[screen] = keys
    for key in before where !keys.contains(key) {
      let count = (pins[key] ?? 1) - 1
      pins[key] = count == 0 ? nil : count
      guard let tile = cache.peek(key) else { continue }
      tile.pinCount = count
      tile.touch(now)
      if count == 0 { pinnedBytes -= tile.byteCount }
    }
    for key in keys where !before.contains(key) {
      pins[key, default: 0] += 1
      guard let tile = cache.peek(key) else { continue }
      tile.pinCount += 1
      if tile.pinCount == 1 { pinnedBytes += tile.byteCount }
    }
  }

  /// True when a screen shows the tile.
  func isShown(_ key: Key) -> Bool { pins[key] != nil }
}
