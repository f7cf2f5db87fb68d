// Stores, transactions and verifiers are words of the ledger's interface.
@_exported public import PurchaseVerification
package import Support
import Synchronization

/// The purchase ledger: hash-chained events and their projections, in one SQLite file (docs/reference/ledger.md).
///
/// Several processes may open one file: writers queue on its lock, readers never wait.
public final class Ledger: Sendable {
  /// The ledger's file.
  public let path: String
  package let clock: LedgerClock
  let database: LedgerDatabase
  package let commits: GroupCommit
  /// The path of the file that keeps what is submitted; nil while that file itself is merged.
  let spool: String?

  private init(path: String, database: LedgerDatabase, clock: LedgerClock, spools: Bool = true) {
    self.path = path
    self.database = database
    self.clock = clock
    spool = spools ? EvidenceSpool.path(of: path) : nil
    commits = GroupCommit(path: path, database: database, clock: clock, spool: spool)
  }

  /// The path of the file beside a ledger that keeps what was submitted.
  package static func spoolPath(of ledger: String) -> String { EvidenceSpool.path(of: ledger) }

  var files: OpenedFiles { database.files }

  /// Closes the file and checkpoints the log into it, unless another process uses it, so that the file is complete by
  /// itself.
  ///
  /// Without `close` the last commits may be in the log only, where they are durable but missing in a copy of the file
  /// alone. Every later use of this object fails.
  public func close() {
    commits.finish()
    database.close()
  }

  /// Creates a ledger.
  ///
  /// - Throws: `LedgerError` if the file exists or the folder is not writable.
  public static func create(at path: String, policy: LedgerPolicy, clock: LedgerClock) throws -> Ledger {
    let database = try LedgerDatabase.create(at: path) { db in
      let recorder = try EvidenceRecorder(db, now: clock.now())
      try recorder.record(policy)
      try recorder.finish()
    }
    return Ledger(path: path, database: database, clock: clock)
  }

  /// Opens a ledger. Given policies that differ from the recorded ones are recorded; nil keeps the recorded ones.
  ///
  /// A process must not open a file twice at the same time: reading its header ends the process's POSIX locks on it.
  ///
  /// - Throws: `LedgerError` if there is no file, it is not a ledger, or the environment differs from the ledger's.
  public static func open(at path: String, policy: LedgerPolicy?, clock: LedgerClock) throws -> Ledger {
    try open(at: path, policy: policy, clock: clock, spools: true)
  }

  /// - Parameter spools: False while the ledger's own spool is merged, whose lines are in it already.
  package static func open(
    at path: String, policy: LedgerPolicy?, clock: LedgerClock, spools: Bool
  ) throws -> Ledger {
    let database = try LedgerDatabase.open(at: path) { try RefundQuestion.fold($0, path) }
    let ledger = Ledger(path: path, database: database, clock: clock, spools: spools)
    // Opening waits for no writer where nothing is to be recorded.
    if let policy, try ledger.policy != policy { _ = try ledger.change(to: policy) }
    return ledger
  }

  /// Opens a ledger read-only: works on read-only media and waits for no writer.
  ///
  /// - Throws: `LedgerError` if there is no file or it is not a ledger.
  public static func openToRead(at path: String, clock: LedgerClock) throws -> Ledger {
    Ledger(path: path, database: try LedgerDatabase.openToRead(at: path), clock: clock)
  }

  /// The current policies, read from the file.
  public var policy: LedgerPolicy {
    get throws { try read { try EvidenceRecorder.policy($0) } }
  }

  // MARK: Transactions of the database

  /// Runs `work` in a write transaction, folds its events and commits; if it throws nothing is written.
  package func write<Value>(_ work: (EvidenceRecorder) throws -> Value) throws -> Value {
    try files.refuseIfGone()
    let value = try LedgerDatabase.reporting(path) {
      try EvidenceRecorder.record(in: database, now: clock.now(), spool: spool, work)
    }
    try files.check()
    return value
  }

  /// Runs `work` in a read transaction.
  func read<Value>(_ work: (SQLiteConnection) throws -> Value) throws -> Value {
    try files.refuseIfGone()
    return try LedgerDatabase.reporting(path) { try database.read(work) }
  }

  /// Runs single statements, each of which sees the last commit at its start. Cheaper than `read`.
  package func readStatement<Value>(_ work: (SQLiteConnection) throws -> Value) throws -> Value {
    try files.refuseIfGone()
    return try LedgerDatabase.reporting(path) { try database.readStatement(work) }
  }

  /// Empties the write-ahead log, which contains deleted rows until then, unless somebody reads or writes.
  package func emptyLog() async throws { try await database.emptyLog() }

  // MARK: Names of the file

  /// Whether a path names the ledger's file or one of SQLite's files beside it, also through links.
  package func owns(_ file: String) -> Bool {
    let file = FileSystem.resolvingLinks(file)
    return ["", "-wal", "-shm", "-journal", ".spool"].contains { suffix in
      let own = FileSystem.resolvingLinks(path + suffix)
      // A file that does not exist has no identity.
      return own == file || FileIdentity(path: own).map { $0 == FileIdentity(path: file) } ?? false
    }
  }
}
