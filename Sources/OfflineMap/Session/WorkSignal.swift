import Synchronization

/// Where workers without work sleep until there may be some.
///
/// A worker remembers ``count`` before it looks for work. If it finds none, it sleeps, unless the count has grown
/// meanwhile.
final class WorkSignal: Sendable {
  private enum Sleeper {
    case arriving
    case asleep(CheckedContinuation<Void, Never>)
    /// Woken before it slept.
    case woken
  }

  private struct State {
    var count = 0
    var sleepers: [Int: Sleeper] = [:]
    var lastNumber = 0
  }

  private let state = Mutex(State())

  /// How often there was something new.
  var count: Int { state.withLock { $0.count } }

  /// Wakes all workers.
  func notify() {
    let numbers = state.withLock { state in
      state.count += 1
      return Array(state.sleepers.keys)
    }
    for number in numbers { wake(number) }
  }

  /// Sleeps until the next ``notify()`` after `seen` was read, until the delay has passed, or until the task is
  /// cancelled.
  func sleep(after seen: Int, atMost delay: Duration?) async {
    let number = state.withLock { state in
      state.lastNumber += 1
      state.sleepers[state.lastNumber] = .arriving
      return state.lastNumber
    }
    let alarm = delay.map { delay in
      Task {
        try await Task.sleep(for: delay)
        wake(number)
      }
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isAwake = state.withLock { state in
          if state.count == seen, case .arriving? = state.sleepers[number] {
            state.sleepers[number] = .asleep(continuation)
            return false
          }
          return true
        }
        if isAwake { continuation.resume() }
      }
    } onCancel: {
      wake(number)
    }
    alarm?.cancel()
    state.withLock { $0.sleepers[number] = nil }
  }

  private func wake(_ number: Int) {
    let sleeper = state.withLock { state in
      let sleeper = state.sleepers[number]
      if sleeper != nil { state.sleepers[number] = .woken }
      return sleeper
    }
    if case .asleep(let continuation)? = sleeper { continuation.resume() }
  }
}
