import Synchronization
import TileIndex

/// The tiles that took drawing (composites, enlarged, joined and re-encoded tiles), least recently used first out.
///
/// Tiles that are handed out as stored do not come here: the system keeps their pages. What several threads want at the same time is drawn once.
package final class DrawnTileCache: Sendable {
  /// What the cache has done since it was made, and what it holds.
  package struct Statistics: Hashable, Sendable {
    /// Tiles that were there.
    package var hits = 0
    /// Tiles that were drawn, successfully or not.
    package var misses = 0
    /// Requests that waited for another thread's drawing; neither hits nor misses.
    package var joined = 0
    package var evictions = 0
    package var entries = 0
    /// The bytes of the tiles and of what keeps them.
    package var bytes = 0
  }

  private struct State {
    var table: LRUTable<DrawnTileKey, Tile>
    var pending: [DrawnTileKey: PendingTile] = [:]
    var statistics = Statistics()
  }

  package let byteCountMax: Int
  private let state: Mutex<State>

  /// - Parameter byteCountMax: the budget, never exceeded; 0 keeps nothing.
  package init(byteCountMax: Int) {
    self.byteCountMax = byteCountMax
    state = Mutex(State(table: LRUTable(byteCountMax: max(byteCountMax, 0))))
  }

  package var statistics: Statistics {
    state.withLock { state in
      var statistics = state.statistics
      statistics.evictions = state.table.evictionCount
      statistics.entries = state.table.count
      statistics.bytes = state.table.byteCount
      return statistics
    }
  }

  /// A tile that is there already; counts as a hit, and not at all when it is not there.
  ///
  /// - Complexity: O(1).
  func tile(for key: DrawnTileKey) -> Tile? {
    state.withLock { state in
      let tile = state.table.value(for: key)
      if tile != nil { state.statistics.hits += 1 }
      return tile
    }
  }

  /// A tile that is there, or is being drawn by another thread (this one then waits), or is drawn now.
  ///
  /// - Throws: what `draw` throws, to every caller that waited for it. A failure is not kept: the next caller draws again.
  func tile(for key: DrawnTileKey, draw: () throws -> Tile) throws -> Tile {
    switch find(key) {
    case .kept(let tile): return tile
    case .other(let pending): return try pending.wait()
    case .own(let pending):
      let result = Result { try draw() }
      state.withLock { state in
        state.pending[key] = nil
        if case .success(let tile) = result {
          state.table.insert(tile, for: key, byteCount: tile.bytes.count + key.byteCount)
        }
      }
      pending.finish(result)
      return try result.get()
    }
  }

  private enum Found {
    case kept(Tile)
    /// Another thread is at it.
    case other(PendingTile)
    /// The caller's to make.
    case own(PendingTile)
  }

  private func find(_ key: DrawnTileKey) -> Found {
    state.withLock { state in
      if let tile = state.table.value(for: key) {
        state.statistics.hits += 1
        return .kept(tile)
      }
      if let pending = state.pending[key] {
        state.statistics.joined += 1
        return .other(pending)
      }
      let pending = PendingTile()
      state.pending[key] = pending
      state.statistics.misses += 1
      return .own(pending)
    }
  }
}
