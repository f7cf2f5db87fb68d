import Synchronization

/// Lets the sender of a file wait until the system has taken what it sent: Hummingbird's writer takes pieces faster than the network does, and keeps them in memory.
final class WriteGate: Sendable {
  private struct State {
    var pending = 0
    var isClosed = false
    var waiter: CheckedContinuation<Void, Never>?

    mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
      defer { waiter = nil }
      return waiter
    }
  }

  private static let pendingMax = 2
  private let state = Mutex(State())

  /// Waits until there is room for another piece, and counts it. Used by one sender at a time.
  func enter() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        guard state.pending >= Self.pendingMax, !state.isClosed else { return true }
        state.waiter = continuation
        return false
      }
      if isOpen { continuation.resume() }
    }
    state.withLock { $0.pending += 1 }
  }

  /// A piece was taken, or will never be.
  func leave() {
    state.withLock { state in
      state.pending = max(0, state.pending - 1)
      return state.takeWaiter()
    }?.resume()
  }

  /// The connection is over: nobody waits any more, writing fails.
  func close() {
    state.withLock { state in
      state.isClosed = true
      return state.takeWaiter()
    }?.resume()
  }
}
