import Synchronization

/// Tells many listeners that something has changed. Changes that come faster than a listener looks are one for it.
final class ChangeSignal: Sendable {
  private struct State {
    var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
    var nextID = 0
  }

  private let state = Mutex(State())

  func send() {
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield() }
  }

  /// The changes from now on; at least one element follows each of them. Ends with the task that reads it.
  func changes() -> AsyncStream<Void> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let id = state.withLock { state in
        state.nextID += 1
        state.listeners[state.nextID] = continuation
        return state.nextID
      }
      continuation.onTermination = { [weak self] _ in self?.state.withLock { _ = $0.listeners.removeValue(forKey: id) }
      }
    }
  }

  /// For tests.
  var listenerCount: Int { state.withLock { $0.listeners.count } }
}
