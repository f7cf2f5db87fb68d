import Synchronization

extension TileCache {
  /// Like ``value(for:byteCount:load:)``, without blocking a thread. A cancelled task stops waiting; when it was the
  /// last to want the tile, `load` is cancelled too.
  ///
  /// - Throws: what `load` throws; `CancellationError` when the task is cancelled.
  package func loadedValue(
    for key: Key, byteCount: Int, load: @escaping @Sendable () async throws -> (Value, byteCount: Int)?
  ) async throws -> Value? {
    while true {
      try Task.checkCancellation()
      switch begin(key, byteCount: byteCount) {
      case .kept(let value): return value
      case .absent: return nil
      case .refused: preconditionFailure("a demand is never refused")
      case .joined(let other):
        if let result = await answer(of: other) { return try result.get() }
      case .load(let own):
        let result = await answer(of: own) { [self] in
          // From here on the waiter stands for the owner's interest, because a cancellation can take a waiter back.
          state.withLock { _ in own.ownerWaits = false }
          // A separate task: the load continues for others when this task is cancelled.
          let work = Task {
            do {
              let loaded = try await load()
              finish(own, loaded.map { .tile($0.0, byteCount: $0.byteCount) } ?? .absent)
            } catch {
              finish(own, .failed(error))
            }
          }
          whenCancelled(own) { work.cancel() }
        }
        guard let result else { preconditionFailure("a load that has not begun is not over") }
        return try result.get()
      }
    }
  }

  /// Waits for a load. Nil when it has already ended.
  ///
  /// - Parameter start: starts the load. It is called after the waiter is registered, because a load may end at once.
  private func answer(
    of load: TileLoad<Key, Value>, start: @Sendable () -> Void = {}
  ) async -> Result<Value?, any Error>? {
    let waiter = TaskWaiter<Value>()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        waiter.settle(continuation)
        guard let number = wait(for: load, { waiter.resume($0) }) else { return waiter.resume(nil) }
        start()
        waiter.whenLeaving { [self] in leave(load, waiter: number) }
      }
    } onCancel: {
      waiter.leave()
    }
  }
}

/// Where a task waits for a load. It is resumed once, by the end of the load or by the task's cancellation, whichever
/// is first.
private final class TaskWaiter<Value: Sendable>: Sendable {
  typealias Answer = Result<Value?, any Error>?

  private struct State {
    var continuation: CheckedContinuation<Answer, Never>?
    var onLeaving: (@Sendable () -> Void)?
    var hasLeft = false
  }

  private let state = Mutex(State())

  func settle(_ continuation: CheckedContinuation<Answer, Never>) {
    state.withLock { $0.continuation = continuation }
  }

  func resume(_ answer: Answer) {
    let continuation = state.withLock { state in
      defer { (state.continuation, state.onLeaving) = (nil, nil) }
      return state.continuation
    }
    continuation?.resume(returning: answer)
  }

  func whenLeaving(_ action: @escaping @Sendable () -> Void) {
    let late = state.withLock { state in
      if !state.hasLeft, state.continuation != nil { state.onLeaving = action }
      return state.hasLeft
    }
    if late {
      action()
      resume(.failure(CancellationError()))
    }
  }

  func leave() {
    let action = state.withLock { state in
      state.hasLeft = true
      return state.onLeaving
    }
    guard let action else { return }
    action()
    resume(.failure(CancellationError()))
  }
}
