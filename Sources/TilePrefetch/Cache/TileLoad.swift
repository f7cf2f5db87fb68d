import Synchronization

/// Why a tile is loaded.
package enum LoadPurpose: Hashable, Sendable {
  /// Somebody waits for it.
  case demand
  /// It may be needed soon.
  case prefetch
}

/// How a load ended.
package enum LoadOutcome<Value: Sendable>: Sendable {
  /// The tile, and the cost of keeping it in bytes.
  case tile(Value, byteCount: Int)
  /// There is no such tile. This is remembered for a while.
  case absent
  /// Nothing is kept, and the next request tries again. A cancelled load ends with `CancellationError`.
  case failed(any Error)
}

/// A load that a cache started. Whoever got it must end it once, with ``TileCache/finish(_:_:)``; until then its cost
/// stays reserved and others wait for it.
package final class TileLoad<Key: TileCacheKey, Value: Sendable>: @unchecked Sendable {
  /// Called with the value, nil where there is none, or with the error.
  package typealias Waiter = @Sendable (Result<Value?, any Error>) -> Void

  /// What is loaded.
  package let key: Key

  /// Guarded by the cache's lock, like the properties below.
  var purpose: LoadPurpose
  /// The reserved cost; 0 when there was no room, and the tile will not be kept.
  var reservedBytes: Int
  var waiters: [Int: Waiter] = [:]
  var nextWaiter = 0
  /// True while the load's owner wants the tile itself, without a waiter.
  var ownerWaits: Bool
  var isOver = false
  var onCancel: (@Sendable () -> Void)?

  private let cancelled = Atomic(false)

  init(key: Key, purpose: LoadPurpose, reservedBytes: Int) {
    self.key = key
    self.purpose = purpose
    self.reservedBytes = reservedBytes
    ownerWaits = purpose == .demand
  }

  /// True when nobody wants the tile any more. A loader that can stop early checks this and fails with
  /// `CancellationError`; others may finish as usual.
  package var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func markCancelled() { cancelled.store(true, ordering: .releasing) }
}

/// The result of a request; see ``TileCache/begin(_:byteCount:purpose:)``.
package enum LoadStart<Key: TileCacheKey, Value: Sendable>: Sendable {
  /// The tile is kept.
  case kept(Value)
  /// There is a negative entry for the tile.
  case absent
  /// The caller must load the tile.
  case load(TileLoad<Key, Value>)
  /// Another caller is loading the tile.
  case joined(TileLoad<Key, Value>)
  /// There is no room for this prefetch.
  case refused
}

// MARK: - How the cache accounts for loads

extension CacheState {
  /// Starts a load. A demand without room is loaded but not kept, unless `isWithinBudget`; a prefetch without room is
  /// refused.
  mutating func start(
    _ key: Key, byteCount: Int, purpose: LoadPurpose, isWithinBudget: Bool, in table: borrowing Table
  ) -> LoadStart<Key, Value> {
    var reserved = byteCount
    switch purpose {
    case .demand:
      if !makeRoom(byteCount, in: table) {
        guard !isWithinBudget else {
          statistics.refusals += 1
          return .refused
        }
        reserved = 0
      }
      statistics.misses += 1
    case .prefetch:
      guard makeRoomAhead(key, byteCount, in: table) else {
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

  /// A request joins a load in progress. A prefetch becomes a demand.
  mutating func join(_ load: TileLoad<Key, Value>) {
    statistics.joined += 1
    guard load.purpose == .prefetch else { return }
    load.purpose = .demand
    load.ownerWaits = true
    reservedAheadBytes -= load.reservedBytes
    statistics.prefetchesUsed += 1
  }

  /// Records the end of a load.
  ///
  /// - Returns: the waiters, to be called without the lock.
  mutating func finish(
    _ load: TileLoad<Key, Value>, _ outcome: LoadOutcome<Value>, at time: Duration, tick: UInt64,
    in table: borrowing Table
  ) -> [TileLoad<Key, Value>.Waiter] {
    guard !load.isOver else { return [] }
    load.isOver = true
    let wasReserved = load.reservedBytes > 0
    release(load)
    if pending[load.key] === load { pending[load.key] = nil }
    underWay[ObjectIdentifier(load)] = nil
    switch outcome {
    case .tile(let value, let cost):
      let byteCount = cost.asCost
      let isThere = table.peek(load.key) != nil
      if !isThere, wasReserved || load.purpose == .demand, makeRoom(byteCount, in: table) {
        keep(load.key, value, byteCount: byteCount, isUnused: load.purpose == .prefetch, tick: tick, in: table)
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

  /// Takes reservations back until the budget holds, those of prefetch loads first.
  mutating func dropReservations() {
    let loads = underWay.values.sorted { $0.purpose == .prefetch && $1.purpose == .demand }
    for load in loads {
      guard keptBytes + reservedBytes > byteCountMax else { return }
      release(load)
    }
  }

  /// Marks a load that nobody wants as cancelled, and returns the callback that stops it.
  mutating func cancelIfUnwanted(_ load: TileLoad<Key, Value>) -> (@Sendable () -> Void)? {
    guard !load.isOver, !load.isCancelled, load.waiters.isEmpty, !load.ownerWaits else { return nil }
    load.markCancelled()
    defer { load.onCancel = nil }
    return load.onCancel
  }
}
