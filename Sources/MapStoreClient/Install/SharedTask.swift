import Synchronization

/// A task that several callers can await. It is cancelled when the last caller is.
final class SharedTask<Value: Sendable>: Sendable {
  private struct State {
    /// The callers that wait; their streams finish with the task.
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

  /// Waits for the task. A cancelled caller leaves the task to the others; the last one cancels it, and waits for its
  /// end.
  ///
  /// - Throws: the task's errors; `CancellationError`.
  func value() async throws -> Value {
    let (over, end) = AsyncStream<Void>.makeStream()
    let id = state.mutex.withLock { state in
      state.nextID += 1
      state.waiting[state.nextID] = end
      // The task has already finished all streams.
      if state.isOver { end.finish() }
      return state.nextID
    }
    // Ends with the task, or when the caller is cancelled.
    for await _ in over {}
    let (hasOthers, isOver) = state.mutex.withLock { state in
      state.waiting[id] = nil
      // No caller may join a task that is about to be cancelled.
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

/// Limits how many installs run at once; the others wait in order of arrival.
final class TransferSlots: Sendable {
  private struct State {
    var free: Int
    var waiting: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    var nextID = 0
    /// Callers that were cancelled before they began to wait.
    var cancelled: Set<Int> = []
  }

  private let state: Mutex<State>

  init(_ count: Int) { state = Mutex(State(free: max(1, count))) }

  /// - Throws: `CancellationError` if cancelled while waiting; the body's errors.
  func run<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
    try await take()
    defer { give() }
    return try await body()
  }

  private func take() async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<Void, any Error>? = state.withLock { state in
          if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
          if state.free > 0 {
            state.free -= 1
            return .success(())
          }
          state.waiting.append((id, continuation))
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
        guard let index = state.waiting.firstIndex(where: { $0.id == id }) else {
          state.cancelled.insert(id)
          return nil
        }
        return state.waiting.remove(at: index).continuation
      }
      continuation?.resume(throwing: CancellationError())
    }
    // If it was cancelled after the slot was taken, nothing else removes the id.
    state.withLock { _ = $0.cancelled.remove(id) }
  }

  private func give() {
    let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      guard !state.waiting.isEmpty else {
        state.free += 1
        return nil
      }
      return state.waiting.removeFirst().continuation
    }
    next?.resume()
  }
}
