import Foundation
import GRDB
import Synchronization

/// Our book: events in a hash chain and what follows from them, in one SQLite file (docs/ledger.md).
///
/// Several processes may open one file; writers queue on its lock, readers never wait for them.
public final class Ledger: Sendable {
  public let path: String
  let clock: LedgerClock
  let pool: DatabasePool
  let commits: GroupCommit
  let files: OpenedFiles
  private let lookUps: LookUps

  private init(path: String, pool: DatabasePool, clock: LedgerClock, isReadOnly: Bool = false) {
    self.path = path
    self.pool = pool
    self.clock = clock
    files = OpenedFiles(path, isWatched: !isReadOnly)
    commits = GroupCommit(path: path, pool: pool, files: files, clock: clock)
    lookUps = LookUps(path: path, files: files)
  }

  /// The writer's connection is closed last, for only that one puts the log back into the file.
  deinit { lookUps.close() }

  /// Ends all use of the file: what is in its log is written into it, as far as no other process is in the way, and from then on it is whole by itself.
  ///
  /// Without this the log may hold the last commits when the process ends; they are as durable there, but a copy of the file alone lacks them. Call it
  /// when nobody uses the ledger any more: whoever does afterwards fails.
  public func close() {
    commits.finish()
    lookUps.close()
    pool.invalidateReadOnlyConnections()
    if !pool.configuration.readonly {
      try? pool.writeWithoutTransaction { try LedgerDatabase.emptyLog($0) }
    }
    try? pool.close()
  }

  /// Makes a new ledger.
  ///
  /// - Throws: `LedgerError` when there is a file already or the place cannot be written.
  public static func create(at path: String, policy: LedgerPolicy, clock: LedgerClock) throws -> Ledger {
    let pool = try LedgerDatabase.create(at: path) { db in
      let booker = try Booker(db, now: clock.now())
      try booker.record(policy)
      try booker.finish()
    }
    return Ledger(path: path, pool: pool, clock: clock)
  }

  /// Opens a ledger. Policies given that differ from the recorded ones are recorded; nil keeps them as they are.
  ///
  /// A process opens a file once at a time: looking at its beginning ends the locks that the process has on it already (POSIX).
  ///
  /// - Throws: `LedgerError`: no file, not a ledger, another environment than it was made for.
  public static func open(at path: String, policy: LedgerPolicy?, clock: LedgerClock) throws -> Ledger {
    let ledger = Ledger(path: path, pool: try LedgerDatabase.open(at: path), clock: clock)
    if let policy { try ledger.adopt(policy) }
    return ledger
  }

  /// Records the policies that differ from those in force.
  ///
  /// - Throws: `LedgerError`: another environment than the ledger was made for.
  public func adopt(_ policy: LedgerPolicy) throws {
    if try self.policy != policy { try write { try $0.record(policy) } }
  }

  /// Opens a ledger to look into it: nothing is written, also where nothing can be, and nobody is waited for. A file of an older version is brought into the
  /// present form first.
  ///
  /// - Throws: `LedgerError`: no file, not a ledger.
  public static func openToRead(at path: String, clock: LedgerClock) throws -> Ledger {
    guard let pool = try LedgerDatabase.openToRead(at: path) else {
      return try open(at: path, policy: nil, clock: clock)
    }
    return Ledger(path: path, pool: pool, clock: clock, isReadOnly: true)
  }

  /// The policies in force, as the file has them.
  public var policy: LedgerPolicy {
    get throws { try read { try Booker.policy($0) } }
  }

  // MARK: Transactions of the database

  /// One write transaction: what `work` books is folded and committed when this returns, or nothing is.
  func write<Value>(_ work: (Booker) throws -> Value) throws -> Value {
    try files.refuseIfGone()
    let value = try LedgerDatabase.reporting(path) {
      try pool.write { db in
        let booker = try Booker(db, now: clock.now())
        let value = try work(booker)
        try booker.finish()
        return value
      }
    }
    try files.check()
    return value
  }

  /// One view of the last commit.
  func read<Value>(_ work: (Database) throws -> Value) throws -> Value {
    try files.refuseIfGone()
    return try LedgerDatabase.reporting(path) { try pool.read(work) }
  }

  /// Single statements, each of which sees one commit by itself; cheaper than `read`.
  func readStatement<Value>(_ work: (LookUpConnection) throws -> Value) throws -> Value {
    try files.refuseIfGone()
    return try LedgerDatabase.reporting(path) { try lookUps.read(work) }
  }
}
