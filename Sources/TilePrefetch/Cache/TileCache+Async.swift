import Synchronization

extension TileCache {
  /// As ``value(for:byteCount:load:)``, without blocking a thread. A task that is cancelled leaves; when it is the last that wanted the tile, `load` is cancelled too.
  ///
  /// - Throws: what `load` throws; `CancellationError` when the task is cancelled.
  public func loadedValue(
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
          // The owner's claim goes over to the waiter, which a cancellation can take back.
          books.withLock { _ in own.ownerWaits = false }
          // A task of its own: the load goes on for others when this one leaves.
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

  /// Nil when the load was over before one could wait.
  ///
  /// - Parameter start: begins the load once its end will be heard of: one that ends at once must not be missed.
  private func answer(
    of load: TileLoad<Key, Value>, start: @Sendable () -> Void = {}
  ) async -> Result<Value?, any Error>? {
    let place = WaitingPlace<Value>()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        place.settle(continuation)
        guard let waiter = wait(for: load, { place.resume($0) }) else { return place.resume(nil) }
        start()
        place.whenLeaving { [self] in leave(load, waiter: waiter) }
      }
    } onCancel: {
      place.leave()
    }
  }
}

/// Where a task waits for a load: resumed once, by the load or by the task's cancellation, whichever is first.
private final class WaitingPlace<Value: Sendable>: Sendable {
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
