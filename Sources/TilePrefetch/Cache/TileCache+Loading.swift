import Dispatch
import Synchronization

extension TileCache {
  /// Wants a tile: finds it, joins a load under way, or hands out a load with its cost reserved.
  ///
  /// - Parameter byteCount: what the tile will cost at most; other tiles go for it now. A tile that turns out larger is kept if there is room then.
  /// - Complexity: O(log n), amortised.
  public func begin(_ key: Key, byteCount: Int, purpose: LoadPurpose = .demand) -> LoadStart<Key, Value> {
    if purpose == .demand, let value = value(for: key) { return .kept(value) }
    let time = now()
    return books.withLock { books in
      if let tile = peek(key) {
        tile.touch(clock.load(ordering: .relaxed))
        if purpose == .demand {
          books.markUsed(tile)
          books.statistics.hits += 1
        }
        return .kept(tile.value)
      }
      if books.absent.contains(key, at: time) {
        if purpose == .demand { books.statistics.absentHits += 1 }
        return .absent
      }
      if let load = books.pending[key], !load.isCancelled {
        if purpose == .demand { books.join(load) }
        return .joined(load)
      }
      return books.start(key, byteCount: byteCount, purpose: purpose, in: self)
    }
  }

  /// Makes a load ahead of need that is under way one that somebody waits for. Begins nothing: false when there is none, or it is over.
  @discardableResult
  public func join(_ key: Key) -> Bool {
    books.withLock { books in
      guard let load = books.pending[key], !load.isCancelled else { return false }
      books.join(load)
      return true
    }
  }

  /// Ends a load: keeps the tile, if there is room, and hands it to all who wait.
  public func finish(_ load: TileLoad<Key, Value>, _ outcome: LoadOutcome<Value>) {
    let (time, tick) = (now(), tick())
    let waiters = books.withLock { $0.finish(load, outcome, at: time, tick: tick, in: self) }
    guard !waiters.isEmpty else { return }
    let result: Result<Value?, any Error> =
      switch outcome {
      case .tile(let value, _): .success(value)
      case .absent: .success(nil)
      case .failed(let error): .failure(error)
      }
    for waiter in waiters { waiter(result) }
  }

  /// Keeps a tile that was made without a load, in place of the one there, if there is room or can be.
  public func insert(_ value: Value, for key: Key, byteCount: Int) {
    let tick = tick()
    books.withLock { books in
      if let tile = peek(key) { books.drop(tile, in: self) }
      books.absent.remove(key)
      guard books.makeRoom(byteCount, in: self) else { return }
      books.keep(key, value, byteCount: byteCount, isUnused: false, tick: tick, in: self)
    }
  }

  /// Calls back when a load of another's is over: with the tile, nil when there is none, or the load's error.
  ///
  /// - Returns: a number to leave with; nil when the load is over already, and `waiter` will not be called.
  public func wait(
    for load: TileLoad<Key, Value>, _ waiter: @escaping TileLoad<Key, Value>.Waiter
  ) -> Int? {
    books.withLock { books in
      guard !load.isOver else { return nil }
      load.nextWaiter += 1
      load.waiters[load.nextWaiter] = waiter
      return load.nextWaiter
    }
  }

  /// Stops waiting. The waiter is not called any more, unless it is being called; a load that nobody wants any more is cancelled.
  ///
  /// - Returns: true when the waiter will not be called.
  @discardableResult
  public func leave(_ load: TileLoad<Key, Value>, waiter: Int) -> Bool {
    let (left, cancellation) = books.withLock { books in
      let left = load.waiters.removeValue(forKey: waiter) != nil
      return (left, left ? books.cancelIfUnwanted(load) : nil)
    }
    // Without the lock: what stops may want something of the cache.
    cancellation?()
    return left
  }

  /// The owner of a load does not want it any more, and it is cancelled unless others wait. It must be ended nevertheless.
  public func cancel(_ load: TileLoad<Key, Value>) {
    let cancellation = books.withLock { books in
      load.ownerWaits = false
      return books.cancelIfUnwanted(load)
    }
    cancellation?()
  }

  /// Sets what stops a load that nobody wants any more.
  func whenCancelled(_ load: TileLoad<Key, Value>, _ action: @escaping @Sendable () -> Void) {
    let isLate = books.withLock { _ in
      load.onCancel = action
      return load.isCancelled
    }
    if isLate { action() }
  }
}

extension TileCache {
  /// A tile that is there, or is being loaded by another thread (this one then waits), or is loaded now, on this thread.
  ///
  /// - Parameters:
  ///   - byteCount: what the tile will cost at most.
  ///   - load: gives the tile and its cost; nil where the source has none.
  /// - Returns: nil where the source has no such tile.
  /// - Throws: what `load` throws, to all who waited for it.
  public func value(for key: Key, byteCount: Int, load: () throws -> (Value, byteCount: Int)?) throws -> Value? {
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

  /// Nil when the load was over before one could wait.
  private func waitBlocking(for load: TileLoad<Key, Value>) -> Result<Value?, any Error>? {
    let answer = LoadAnswer<Value>()
    guard wait(for: load, { answer.put($0) }) != nil else { return nil }
    return answer.take()
  }
}
