import Synchronization

/// Asks work that is running to stop.
///
/// Work that may take long calls ``check()`` now and then. Which cancellation counts there is set by ``run(_:)`` around
/// the work, as for tasks; threads of ``WorkerThread/run(count:_:)`` inherit it.
package final class Cancellation: Sendable {
  @TaskLocal private static var ofThisWork: Cancellation?

  private let flag = Atomic(false)
  private let parent: Cancellation?

  /// - Parameter parent: cancels this one too.
  package init(parent: Cancellation? = nil) { self.parent = parent }

  /// May be called from any thread.
  package func cancel() { flag.store(true, ordering: .relaxed) }

  package var isCancelled: Bool { flag.load(ordering: .relaxed) || parent?.isCancelled == true }

  /// Does work that this cancellation stops.
  package func run<Result>(_ work: () throws -> Result) rethrows -> Result {
    try Self.$ofThisWork.withValue(self) { try work() }
  }

  /// The cancellation of the work that this thread does; nil if nothing stops it.
  package static var current: Cancellation? { ofThisWork }

  /// Whether the work that this thread does is to stop.
  package static var isCancelled: Bool { ofThisWork?.isCancelled == true }

  /// Ends the work that is to stop.
  ///
  /// - Throws: `CancellationError`.
  package static func check() throws(CancellationError) {
    if isCancelled { throw CancellationError() }
  }
}
