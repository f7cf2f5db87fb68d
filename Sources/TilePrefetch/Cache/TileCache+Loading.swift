import Dispatch
import Synchronization

extension TileCache {
  /// Requests a tile: finds it, joins a load in progress, or starts a load with its cost reserved.
  ///
  /// - Parameter byteCount: the most that the tile may cost; other tiles are evicted for it now. A tile that turns out
  ///   larger is kept if there is room then. Here and wherever a tile has a cost, one below 0 counts as 0.
  /// - Complexity: O(log n), amortised.
  package func begin(_ key: Key, byteCount: Int, purpose: LoadPurpose = .demand) -> LoadStart<Key, Value> {
    begin(key, byteCount: byteCount, purpose: purpose, isWithinBudget: false)
  }

  /// - Parameter isWithinBudget: true to refuse also a demand for which there is no room.
  func begin(
    _ key: Key, byteCount: Int, purpose: LoadPurpose = .demand, isWithinBudget: Bool
  ) -> LoadStart<Key, Value> {
    if purpose == .demand, let value = value(for: key) { return .kept(value) }
    let time = now()
    return state.withLock { state in
      if let tile = peek(key), let value = tile.value {
        tile.touch(clock.load(ordering: .relaxed))
        if purpose == .demand {
          state.markUsed(tile)
          state.statistics.hits += 1
        }
        return .kept(value)
      }
      if state.absent.contains(key, at: time) {
        if purpose == .demand { state.statistics.absentHits += 1 }
        return .absent
      }
      if let load = state.pending[key], !load.isCancelled {
        if purpose == .demand { state.join(load) }
        return .joined(load)
      }
      return state.start(
        key, byteCount: byteCount.asCost, purpose: purpose, isWithinBudget: isWithinBudget, in: table)
    }
  }

  /// Turns a prefetch load in progress into a load on demand. Starts nothing; false when there is no such load.
  @discardableResult
  package func join(_ key: Key) -> Bool {
    state.withLock { state in
      guard let load = state.pending[key], !load.isCancelled else { return false }
      state.join(load)
      return true
    }
  }

  /// Ends a load: keeps the tile if there is room, and passes the result to all waiters.
  package func finish(_ load: TileLoad<Key, Value>, _ outcome: LoadOutcome<Value>) {
    let (time, tick) = (now(), tick())
    let waiters = state.withLock { $0.finish(load, outcome, at: time, tick: tick, in: table) }
    guard !waiters.isEmpty else { return }
    let result: Result<Value?, any Error> =
      switch outcome {
      case .tile(let value, _): .success(value)
      case .absent: .success(nil)
      case .failed(let error): .failure(error)
      }
    for waiter in waiters { waiter(result) }
  }

  /// Keeps a tile that was made without a load, in place of an existing one, if room can be made.
  package func insert(_ value: Value, for key: Key, byteCount: Int) {
    let (tick, byteCount) = (tick(), byteCount.asCost)
    state.withLock { state in
      if let tile = peek(key) { state.drop(tile, in: table) }
      state.absent.remove(key)
      guard state.makeRoom(byteCount, in: table) else { return }
      state.keep(key, value, byteCount: byteCount, isUnused: false, tick: tick, in: table)
    }
  }

  /// Registers a callback for the end of another caller's load. It gets the tile, nil when there is none, or the load's
  /// error.
  ///
  /// - Returns: a number for ``leave(_:waiter:)``; nil when the load has already ended, and `waiter` will not be
  ///   called.
  package func wait(
    for load: TileLoad<Key, Value>, _ waiter: @escaping TileLoad<Key, Value>.Waiter
  ) -> Int? {
    state.withLock { state in
      guard !load.isOver else { return nil }
      load.nextWaiter += 1
      load.waiters[load.nextWaiter] = waiter
      return load.nextWaiter
    }
  }

  /// Stops waiting. The waiter is not called any more, unless the call is in progress. A load that nobody wants any
  /// more is cancelled.
  ///
  /// - Returns: true when the waiter will not be called.
  @discardableResult
  package func leave(_ load: TileLoad<Key, Value>, waiter: Int) -> Bool {
    let (left, cancellation) = state.withLock { state in
      let left = load.waiters.removeValue(forKey: waiter) != nil
      return (left, left ? state.cancelIfUnwanted(load) : nil)
    }
    // Called without the lock, because it may call the cache.
    cancellation?()
    return left
  }

  /// The owner of a load does not want it any more: it is cancelled unless others wait. The owner must still call
  /// ``finish(_:_:)``.
  package func cancel(_ load: TileLoad<Key, Value>) {
    let cancellation = state.withLock { state in
      load.ownerWaits = false
      return state.cancelIfUnwanted(load)
    }
    cancellation?()
  }

  /// Sets the callback that stops a load when nobody wants it any more.
  func whenCancelled(_ load: TileLoad<Key, Value>, _ action: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { _ in
      load.onCancel = action
      return load.isCancelled
    }
    if isLate { action() }
  }
}

// MARK: - Blocking loads

extension TileCache {
  /// Returns a kept tile, waits for another thread that is loading it, or loads it on this thread.
  ///
  /// - Parameters:
  ///   - byteCount: the most that the tile may cost.
  ///   - load: returns the tile and its cost; nil where the source has none.
  /// - Returns: nil where the source has no such tile.
  /// - Throws: what `load` throws, to all who waited for it.
  package func value(for key: Key, byteCount: Int, load: () throws -> (Value, byteCount: Int)?) throws -> Value? {
    while true {
      switch begin(key, byteCount: byteCount) {
      case .kept(let value): return value
      case .absent: return nil
      case .refused: preconditionFailure("a demand is never refused")
      case .load(let own):
        do {
          let loaded = try load()
          finish(own, loaded.map { .tile($0.0, byteCount: $0.byteCount) } ?? .absent)
          return loaded?.0
        } catch {
          finish(own, .failed(error))
          throw error
        }
      case .joined(let other):
        if let result = waitBlocking(for: other) { return try result.get() }
      }
    }
  }

  /// Nil when the load has already ended.
  private func waitBlocking(for load: TileLoad<Key, Value>) -> Result<Value?, any Error>? {
    let answer = LoadAnswer<Value>()
    guard wait(for: load, { answer.put($0) }) != nil else { return nil }
    return answer.take()
  }
}

/// The result of a load for which a thread blocks.
final class LoadAnswer<Value: Sendable>: Sendable {
  private let result = Mutex<Result<Value?, any Error>?>(nil)
  private let arrived = DispatchSemaphore(value: 0)

  /// Stores the result, once.
  func put(_ result: Result<Value?, any Error>) {
    self.result.withLock { $0 = result }
    arrived.signal()
  }

  /// Blocks until the result is there.
  func take() -> Result<Value?, any Error> {
    arrived.wait()
    return result.withLock { $0! }
  }
}
