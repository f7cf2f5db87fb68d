import Synchronization

/// Work that several callers wait for. It is cancelled when nobody waits any more.
final class SharedWork<Value: Sendable>: Sendable {
  private struct State {
    /// Those who wait; finished with the work.
    var waiting: [Int: AsyncStream<Void>.Continuation] = [:]
    var nextID = 0
    var isOver = false
    var isCancelled = false
  }

  let task: Task<Value, any Error>
  private let state: StateBox

  private final class StateBox: Sendable {
    let mutex = Mutex(State())
  }

  init(_ work: @escaping @Sendable () async throws -> Value) {
    let state = StateBox()
    self.state = state
    task = Task {
      defer {
        let waiting = state.mutex.withLock { state in
          state.isOver = true
          return state.waiting.values
        }
        for one in waiting { one.finish() }
      }
      return try await work()
    }
  }

  var waitingCount: Int { state.mutex.withLock { $0.waiting.count } }
  var isOver: Bool { state.mutex.withLock { $0.isOver } }
  var isCancelled: Bool { state.mutex.withLock { $0.isCancelled } }

  func cancel() {
    state.mutex.withLock { $0.isCancelled = true }
    task.cancel()
  }

  /// Waits for the work. A caller that is cancelled leaves it to the others; the last one cancels it, and waits for its end.
  ///
  /// - Throws: what the work throws; `CancellationError`.
  func value() async throws -> Value {
    let (over, end) = AsyncStream<Void>.makeStream()
    let id = state.mutex.withLock { state in
      state.nextID += 1
      state.waiting[state.nextID] = end
      // Otherwise its end would not be told.
      if state.isOver { end.finish() }
      return state.nextID
    }
    // Ends with the work, or as the caller is cancelled.
    for await _ in over {}
    let (hasOthers, isOver) = state.mutex.withLock { state in
      state.waiting[id] = nil
      // Nobody may join what is about to be cancelled.
      if !state.isOver, state.waiting.isEmpty { state.isCancelled = true }
      return (!state.waiting.isEmpty, state.isOver)
    }
    if !isOver {
      if hasOthers { throw CancellationError() }
      task.cancel()
    }
    return try await task.value
  }
}
