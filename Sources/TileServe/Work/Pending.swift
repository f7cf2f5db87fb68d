import Dispatch
import Synchronization

/// Something that one thread makes and others wait for.
final class Pending<Value: Sendable>: Sendable {
  private let result = Mutex<Result<Value, any Error>?>(nil)
  /// Entered until the result is there: everybody who waits is let go at once.
  private let group = DispatchGroup()

  init() { group.enter() }

  /// Hands over the result, once.
  func finish(_ result: Result<Value, any Error>) {
    self.result.withLock { $0 = result }
    group.leave()
  }

  /// Blocks until the result is there.
  func wait() throws -> Value {
    group.wait()
    return try result.withLock { $0! }.get()
  }
}
