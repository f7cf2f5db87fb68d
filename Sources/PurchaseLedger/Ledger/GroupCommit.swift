import Dispatch
import Support
import Synchronization

/// Lets concurrent writers of this process share one commit, because the fsync is most of the cost of a small write.
/// Runs on a queue of its own, so that it does not block the threads of Swift's concurrency.
package final class GroupCommit: Sendable {
  /// The work of one caller. If it throws it must not have changed anything.
  private struct Item: Sendable {
    let work: @Sendable (EvidenceRecorder) throws -> any Sendable
    let done: @Sendable (Swift.Result<any Sendable, any Error>) -> Void
  }

  private struct Waiting {
    var items: [Item] = []
    var isDraining = false
  }

  private static let batchMax = 4096

  private let path: String
  private let database: LedgerDatabase
  private let clock: LedgerClock
  private let spool: String?
  private let waiting = Mutex(Waiting())
  private let queue = DispatchQueue(label: "purchase-ledger.commits")
  private let lastFailure = Mutex<LedgerError?>(nil)
  /// When the commit began that waits for the lock or the disk, on the monotonic clock.
  private let began = Mutex<Double?>(nil)

  init(path: String, database: LedgerDatabase, clock: LedgerClock, spool: String?) {
    self.path = path
    self.database = database
    self.clock = clock
    self.spool = spool
  }

  private var files: OpenedFiles { database.files }

  /// The error of the last commit if the disk or the database failed; nil after a successful one.
  var failure: LedgerError? { lastFailure.withLock { $0 } }

  /// How long the present commit has been waiting for the lock and the disk; 0 without one.
  var waitingSeconds: Double { began.withLock { $0.map { MonotonicClock.seconds - $0 } } ?? 0 }

  /// Runs `work` in a write transaction shared with other callers; returns after the commit.
  package func perform<Value: Sendable>(
    _ work: @escaping @Sendable (EvidenceRecorder) throws -> Value
  ) async throws -> Value {
    let value: any Sendable = try await withCheckedThrowingContinuation { continuation in
      let item = Item(work: work) { continuation.resume(with: $0) }
      let starts = waiting.withLock { waiting in
        waiting.items.append(item)
        defer { waiting.isDraining = true }
        return !waiting.isDraining
      }
      if starts { queue.async { self.drain() } }
    }
    guard let value = value as? Value else { preconditionFailure("the work of another caller was answered") }
    return value
  }

  /// Waits until all queued work is committed.
  func finish() { queue.sync {} }

  private func drain() {
    while true {
      let batch = waiting.withLock { waiting in
        let batch = Array(waiting.items.prefix(Self.batchMax))
        waiting.items.removeFirst(batch.count)
        if batch.isEmpty { waiting.isDraining = false }
        return batch
      }
      if batch.isEmpty { return }
      commit(batch)
    }
  }

  /// Makes a commit without a change, to test whether the disk accepts writes.
  func probe() throws {
    try LedgerDatabase.reporting(path) {
      try database.write { try $0.execute("PRAGMA user_version = \(LedgerSchema.version)") }
    }
    try files.check()
    lastFailure.withLock { $0 = nil }
  }

  private func commit(_ batch: [Item]) {
    began.withLock { $0 = MonotonicClock.seconds }
    defer { began.withLock { $0 = nil } }
    do {
      try files.refuseIfGone()
      let results = try LedgerDatabase.reporting(path) {
        try EvidenceRecorder.record(in: database, now: clock.now(), spool: spool) { recorder in
          try batch.map { item -> Swift.Result<any Sendable, any Error> in
            do { return .success(try item.work(recorder)) } catch let error as LedgerError { return .failure(error) }
          }
        }
      }
      // A commit into a removed file is not acknowledged. Presenting the evidence again records it once.
      try files.check()
      lastFailure.withLock { $0 = nil }
      for (item, result) in zip(batch, results) { item.done(result) }
    } catch {
      // The transaction was rolled back, or the file is gone: nothing was recorded for any caller.
      lastFailure.withLock { $0 = error as? LedgerError }
      for item in batch { item.done(.failure(error)) }
    }
  }
}
