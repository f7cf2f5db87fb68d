extension CacheBooks {
  /// Hands out a load. A demand that finds no room is loaded without being kept; a prefetch is refused.
  mutating func start(_ key: Key, byteCount: Int, purpose: LoadPurpose, in cache: Cache) -> LoadStart<Key, Value> {
    var reserved = byteCount
    switch purpose {
    case .demand:
      statistics.misses += 1
      if !makeRoom(byteCount, in: cache) { reserved = 0 }
    case .prefetch:
      guard makeRoomAhead(key, byteCount, in: cache) else {
        statistics.refusals += 1
        return .refused
      }
      statistics.prefetches += 1
      reservedAheadBytes += reserved
    }
    reservedBytes += reserved
    noteUse()
    let load = TileLoad<Key, Value>(key: key, purpose: purpose, reservedBytes: reserved)
    pending[key] = load
    underWay[ObjectIdentifier(load)] = load
    return .load(load)
  }

  /// Somebody wants what is under way.
  mutating func join(_ load: TileLoad<Key, Value>) {
    statistics.joined += 1
    guard load.purpose == .prefetch else { return }
    load.purpose = .demand
    load.ownerWaits = true
    reservedAheadBytes -= load.reservedBytes
    statistics.prefetchesUsed += 1
  }

  /// Books a load's end.
  ///
  /// - Returns: those who wait for it, to be called without the lock.
  mutating func finish(
    _ load: TileLoad<Key, Value>, _ outcome: LoadOutcome<Value>, at time: Duration, tick: UInt64, in cache: Cache
  ) -> [TileLoad<Key, Value>.Waiter] {
    guard !load.isOver else { return [] }
    load.isOver = true
    let wasReserved = load.reservedBytes > 0
    release(load)
    if pending[load.key] === load { pending[load.key] = nil }
    underWay[ObjectIdentifier(load)] = nil
    switch outcome {
    case .tile(let value, let byteCount):
      let isThere = cache.peek(load.key) != nil
      if !isThere, wasReserved || load.purpose == .demand, makeRoom(byteCount, in: cache) {
        keep(load.key, value, byteCount: byteCount, isUnused: load.purpose == .prefetch, tick: tick, in: cache)
      } else if !isThere {
        statistics.uncached += 1
      }
      absent.remove(load.key)
    case .absent: absent.insert(load.key, at: time)
    case .failed: statistics.failures += 1
    }
    load.onCancel = nil
    defer { load.waiters = [:] }
    return load.waiters.sorted { $0.key < $1.key }.map(\.value)
  }

  private mutating func release(_ load: TileLoad<Key, Value>) {
    reservedBytes -= load.reservedBytes
    if load.purpose == .prefetch { reservedAheadBytes -= load.reservedBytes }
    load.reservedBytes = 0
  }

  /// Takes reservations back until the budget holds, those of loads ahead of need first.
  mutating func dropReservations() {
    let loads = underWay.values.sorted { $0.purpose == .prefetch && $1.purpose == .demand }
    for load in loads {
      guard keptBytes + reservedBytes > byteCountMax else { return }
      release(load)
    }
  }

  /// Marks a load that nobody wants as cancelled, and returns what stops it.
  mutating func cancelIfUnwanted(_ load: TileLoad<Key, Value>) -> (@Sendable () -> Void)? {
    guard !load.isOver, !load.isCancelled, load.waiters.isEmpty, !load.ownerWaits else { return nil }
    load.markCancelled()
    defer { load.onCancel = nil }
    return load.onCancel
  }
}
