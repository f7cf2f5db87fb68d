package import MemoryPressure
import Synchronization
package import TileIndex

extension MapLoader {
  /// What a free loader should load now; nil when there is nothing to do until the map moves, a load ends, or
  /// ``retryDelay`` has passed.
  package func next() -> Load? {
    state.withLock { state in
      guard state.loading.count < source.loadsMax else { return nil }
      for tile in state.retries.takeDue(at: cache.now()) where state.visible?.contains(tile) == true {
        state.demand.append(tile)
      }
      while let tile = state.demand.popLast() {
        if let load = begin(tile, &state) { return load }
      }
      return state.isPaused ? nil : nextAhead(&state)
    }
  }

  /// Starts to load a tile that is missing on the screen; nil when there is nothing to do.
  private func begin(_ tile: TileID, _ state: inout State) -> Load? {
    guard !isThere(tile, state), state.loading[tile] == nil, state.joined[tile] == nil else { return nil }
    switch cache.begin(tile, byteCount: state.tileCost, isWithinBudget: isWithinBudget) {
    case .kept: return nil
    case .refused:
      state.waiting.append(tile)
      return nil
    case .absent:
      if let end = cache.absenceEnd(of: tile) { state.retries.wait(for: tile, until: end) }
      return nil
    case .joined(let other):
      // Another map is loading it. When that load has already ended, the tile is requested again.
      if let waiter = cache.wait(for: other, { [weak self] in self?.joinedLoadEnded(tile, $0) }) {
        state.joined[tile] = (other, waiter)
      } else {
        state.demand.append(tile)
      }
      return nil
    case .load(let load):
      state.loading[tile] = (load, cache.now())
      state.meter?.began(tile)
      return load
    }
  }

  private func nextAhead(_ state: inout State) -> Load? {
    guard state.ahead.count < source.aheadMax, state.meter?.allowsAhead ?? true else { return nil }
    while state.position < state.plan.count {
      let tile = state.plan[state.position]
      state.position += 1
      guard state.visible?.contains(tile) != true, state.loading[tile] == nil, !state.retries.contains(tile) else {
        continue
      }
      switch cache.begin(tile, byteCount: state.tileCost, purpose: .prefetch) {
      case .kept, .absent, .joined: continue
      case .refused:
        // The rest of the plan is less urgent, so there is no room for it either.
        state.position = state.plan.count
      case .load(let load):
        state.loading[tile] = (load, cache.now())
        state.meter?.began(tile)
        state.ahead.insert(tile)
        return load
      }
    }
    return nil
  }

  /// Ends a load.
  package func finish(_ load: Load, _ outcome: LoadOutcome<Value>) {
    cache.finish(load, outcome)
    state.withLock { state in
      let tile = load.key
      if let loading = state.loading.removeValue(forKey: tile), state.meter != nil {
        var byteCount: Int?
        if case .tile(_, let count) = outcome { byteCount = count.asCost }
        state.meter?.ended(after: cache.now() - loading.start, byteCount: byteCount)
      }
      state.ahead.remove(tile)
      // There may be room now.
      state.retryWaiting()
      switch outcome {
      case .tile(let value, let byteCount): take(value, byteCount, of: tile, &state)
      case .absent: lacks(tile, &state)
      case .failed:
        // A tile whose load was cancelled, and which is on the screen again, is requested at once.
        if !load.isCancelled {
          state.retries.failed(tile, at: cache.now())
        } else if state.visible?.contains(tile) == true {
          state.demand.append(tile)
        }
      }
    }
  }

  /// Another map's load has ended, for which a tile of this screen waited.
  private func joinedLoadEnded(_ tile: TileID, _ result: Result<Value?, any Error>) {
    state.withLock { state in
      state.joined[tile] = nil
      switch result {
      case .success(let value?): take(value, tileCost, of: tile, &state)
      case .success(nil): lacks(tile, &state)
      case .failure: state.retries.failed(tile, at: cache.now())
      }
    }
  }

  private func take(_ value: Value, _ cost: Int, of tile: TileID, _ state: inout State) {
    let byteCount = cost.asCost
    state.retries.forget(tile)
    guard !isWithinBudget else {
      // A tile that is larger than the whole budget must not stop the loads of the others.
      if byteCount <= cache.byteCountMax { state.tileCost = max(state.tileCost, byteCount) }
      return
    }
    guard state.visible?.contains(tile) == true, !cache.contains(tile) else { return }
    state.held[tile] = (value, byteCount)
  }

  /// The source has no such tile. It is asked again when the negative entry expires.
  private func lacks(_ tile: TileID, _ state: inout State) {
    state.retries.forget(tile)
    guard state.visible?.contains(tile) == true else { return }
    if let end = cache.absenceEnd(of: tile) { state.retries.wait(for: tile, until: end) }
  }
}

// MARK: - Memory pressure

extension MapLoader {
  /// Responds to a change of the memory pressure level. Above `normal` prefetch pauses, the cache shrinks, and the
  /// allocator returns free memory to the system.
  ///
  /// Only one of several maps that share a cache calls this; the others set ``isPaused``.
  /// - Parameter keeping: as in ``TileCache/adjust(to:keeping:)``.
  package func adjust(to level: PressureLevel, keeping: (TileID) -> Bool = { $0.zoom <= 2 }) {
    isPaused = level > .normal
    cache.adjust(to: level, keeping: keeping)
    if level > .normal { FreeMemory.giveBack() }
  }
}
