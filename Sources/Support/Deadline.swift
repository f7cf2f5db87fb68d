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
