import Dispatch
import Synchronization

/// The result of a load that a thread blocks for.
final class LoadAnswer<Value: Sendable>: Sendable {
  private let result = Mutex<Result<Value?, any Error>?>(nil)
  private let arrived = DispatchSemaphore(value: 0)

  /// Hands over the result, once.
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
