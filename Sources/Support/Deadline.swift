import Synchronization

/// A time by which work has to be done, and which its progress may move on. The time in which the machine sleeps does
/// not count.
package final class Deadline: Sendable {
  /// The work was not done in time.
  package struct Passed: Error {}

  private let end: Mutex<SuspendingClock.Instant>

  package init(after seconds: Double) { end = Mutex(.now + .seconds(seconds)) }

  /// Allows more time.
  package func extend(by seconds: Double) { end.withLock { $0 += .seconds(seconds) } }

  /// Begins again, with so much time from now.
  package func restart(_ seconds: Double) { end.withLock { $0 = .now + .seconds(seconds) } }

  /// How much time is left; negative afterwards.
  package var secondsLeft: Double { end.withLock { SuspendingClock.now.duration(to: $0) } / .seconds(1) }

  /// Runs work, and cancels it when the time has passed. Returns when the work has ended in either case.
  ///
  /// - Throws: ``Passed``; what the work throws.
  package func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
      defer { group.cancelAll() }
      group.addTask { try await work() }
      group.addTask {
        while self.secondsLeft > 0 { try await Task.sleep(for: .seconds(self.secondsLeft), clock: .suspending) }
        return nil
      }
      guard let value = try await group.next() ?? nil else { throw Passed() }
      return value
    }
  }
}

extension Deadline {
  /// Whoever waits for the first of two things.
  private final class Waiter: Sendable {
    private let continuation: Mutex<CheckedContinuation<Void, any Error>?>

    init(_ continuation: CheckedContinuation<Void, any Error>) { self.continuation = Mutex(continuation) }

    var isGone: Bool { continuation.withLock { $0 == nil } }

    func resume(_ result: Result<Void, any Error>) {
      continuation.withLock { $0.take() }?.resume(with: result)
    }
  }

  /// Runs work to its end, and waits for that, but no longer than some time: the work goes on alone then.
  ///
  /// - Parameter work: Is told whether nobody waits any more; what it throws then is lost.
  /// - Throws: what the work throws in time.
  package static func waiting(
    atMost time: Duration, for work: @escaping @Sendable (_ isAlone: @Sendable () -> Bool) async throws -> Void
  ) async throws {
    try await withCheckedThrowingContinuation { continuation in
      let waiter = Waiter(continuation)
      let clock = Task {
        try await Task.sleep(for: time)
        waiter.resume(.success(()))
      }
      Task {
        do {
          try await work { waiter.isGone }
          waiter.resume(.success(()))
        } catch {
          waiter.resume(.failure(error))
        }
        clock.cancel()
      }
    }
  }
}
