import Dispatch
import Synchronization

/// A tile that one thread draws and others wait for.
final class PendingTile: Sendable {
  private let result = Mutex<Result<Tile, any Error>?>(nil)
  /// Entered until the result is there: everybody who waits is let go at once.
  private let group = DispatchGroup()

  init() { group.enter() }

  /// Hands over the result, once.
  func finish(_ result: Result<Tile, any Error>) {
    self.result.withLock { $0 = result }
    group.leave()
  }

  /// Blocks until the result is there.
  func wait() throws -> Tile {
    group.wait()
    return try result.withLock { $0! }.get()
  }
}
