import CSQLite
import LibC

/// An open database. For one thread at a time: it is opened without SQLite's own mutexes.
package final class SQLiteConnection {
  /// For functions of SQLite that this wrapper does not have.
  package let handle: OpaquePointer
  private var statements: [String: SQLiteStatement] = [:]
  private var isClosed = false
  /// Counts what statements cost; nil where nobody limits it.
  private(set) var meter: StepMeter?

  /// - Parameters:
  ///   - uri: a path, or a `file:` URI with its path escaped by ``uri(path:parameters:)``; empty for a temporary
  ///     database.
  ///   - flags: `SQLITE_OPEN_...`; URI, NOMUTEX and EXRESCODE are added.
  package init(uri: String, flags: Int32) throws {
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(
      uri, &opened, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
    guard code == SQLITE_OK, let opened else {
      let error = SQLiteError(
        code: code, message: String(cString: opened.flatMap { sqlite3_errmsg($0) } ?? sqlite3_errstr(code)),
        systemError: opened.map(sqlite3_system_errno) ?? 0)
      sqlite3_close_v2(opened)
      throw error
    }
    handle = opened
    sqlite3_progress_handler(handle, 1000, { _ in Cancellation.isCancelled ? 1 : 0 }, nil)
  }

  /// Opens a database for reading and writing; creates it if missing. Waits up to five seconds for another process's
  /// lock.
  package convenience init(creating path: String) throws {
    try self.init(
      uri: Self.uri(path: path, parameters: []), flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
    setBusyTimeout(milliseconds: 5000)
  }

  /// Opens a database for reading beside others that write it.
  package convenience init(reading path: String) throws {
    try self.init(uri: Self.uri(path: path, parameters: []), flags: SQLITE_OPEN_READONLY)
    setBusyTimeout(milliseconds: 1000)
  }

  deinit {
    guard !isClosed else { return }
    statements.removeAll()
    sqlite3_close_v2(handle)
  }

  /// Closes the file; the last connection to a write-ahead log checkpoints and removes it. The connection must not be
  /// used afterwards.
  ///
  /// - Throws: `SQLiteError` if a statement of ``prepare(_:)`` is still in use; the connection is then open.
  package func close() throws {
    guard !isClosed else { return }
    statements.removeAll()
    let code = sqlite3_close(handle)
    guard code == SQLITE_OK else { throw error(code) }
    isClosed = true
  }

  /// A `file:` URI (RFC 8089) of a path. Every byte other than a letter, digit or separator is escaped, so that `%`,
  /// `?` and `#` in names remain part of the name.
  package static func uri(path: String, parameters: [String]) -> String {
    var uri = "file:"
    // Text after two slashes would be parsed as a host.
    let path = path.hasPrefix("//") ? "/" + path.drop { $0 == "/" } : path
    uri += PercentEncoding.path(SystemPath.bytes(path))
    return parameters.isEmpty ? uri : uri + "?" + parameters.joined(separator: "&")
  }

  // MARK: Errors

  /// The error of the last failed call.
  package func error(_ code: Int32) -> SQLiteError { Self.error(code, in: handle, meter) }

  static func error(_ code: Int32, in handle: OpaquePointer, _ meter: StepMeter?) -> SQLiteError {
    if code == SQLITE_INTERRUPT, let meter, meter.isOverLimit { return meter.overLimit }
    let isIO = code & 0xff == SQLITE_IOERR || code & 0xff == SQLITE_CANTOPEN || code & 0xff == SQLITE_FULL
    return SQLiteError(
      code: code, message: String(cString: sqlite3_errmsg(handle)),
      systemError: isIO ? sqlite3_system_errno(handle) : 0)
  }

  // MARK: Statements

  /// Runs statements that return no rows, or whose rows are ignored.
  package func execute(_ sql: String) throws {
    meter?.begin()
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code) }
  }

  /// Compiles a statement for its owner.
  package func prepare(_ sql: String) throws -> SQLiteStatement { try SQLiteStatement(self, sql, isCached: false) }

  /// A statement that is compiled once for the connection, reset and without bound values.
  ///
  /// Valid while the connection is open. Everybody who asks for the same text gets the same statement: leave it reset.
  package func cached(_ sql: String) throws -> SQLiteStatement {
    if let known = statements[sql] {
      known.clear()
      return known
    }
    let statement = try SQLiteStatement(self, sql, isCached: true)
    statements[sql] = statement
    return statement
  }

  /// The columns of a table or view: names in lower case with their declared types; empty if it does not exist.
  package func columns(of table: String) throws -> [String: String] {
    let statement = try prepare("PRAGMA table_info(\(table))")
    var columns: [String: String] = [:]
    while try statement.step() {
      if let name = statement.optionalText(1) { columns[name.lowercased()] = statement.text(2) }
    }
    return columns
  }

  /// The row number of the last inserted row.
  package var lastInsertedRowID: Int64 { sqlite3_last_insert_rowid(handle) }

  // MARK: Transactions

  package enum TransactionKind {
    /// Reads one state of the database from the first statement on.
    case deferred
    /// Takes the write lock at once.
    case immediate
    /// Nested in another transaction, or one of its own.
    case savepoint
  }

  /// Runs `body` in a transaction, which is committed unless `body` or the commit throws.
  package func transaction<Value>(_ kind: TransactionKind, _ body: () throws -> Value) throws -> Value {
    switch kind {
    case .deferred: try execute("BEGIN DEFERRED")
    case .immediate: try execute("BEGIN IMMEDIATE")
    case .savepoint: try execute("SAVEPOINT nested")
    }
    do {
      let value = try body()
      if kind == .savepoint {
        try execute("RELEASE nested")
      } else {
        // A statement left in the middle of its rows would keep the transaction's state of the database.
        resetStatements()
        try execute("COMMIT")
      }
      return value
    } catch {
      rollBack(kind)
      throw error
    }
  }

  package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  private func rollBack(_ kind: TransactionKind) {
    // Some errors, such as a full disk, have rolled back the whole transaction already.
    guard isInTransaction else { return }
    if kind == .savepoint {
      try? execute("ROLLBACK TO nested; RELEASE nested")
    } else {
      resetStatements()
      try? execute("ROLLBACK")
    }
  }

  private func resetStatements() {
    var statement = sqlite3_next_stmt(handle, nil)
    while let raw = statement {
      if sqlite3_stmt_busy(raw) != 0 { sqlite3_reset(raw) }
      statement = sqlite3_next_stmt(handle, raw)
    }
  }

  // MARK: Limits

  /// How long a statement waits for another connection's lock; 0 to fail at once.
  package func setBusyTimeout(milliseconds: Int32) { sqlite3_busy_timeout(handle, milliseconds) }

  /// Limits what the statements compiled from now on may cost: for files from strangers.
  package func setLimits(_ limits: SQLiteLimits) {
    install(StepMeter(limits.steps))
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Int32(clamping: limits.valueBytes))
    limits.applySchemaLimits(to: handle)
  }

  /// Ends statements whose run takes more steps of SQLite's virtual machine than this.
  ///
  /// A lookup by an index takes about a hundred. Statements that were compiled when nothing was limited are not ended.
  package func limitingSteps<Value>(to steps: Int, _ body: () throws -> Value) rethrows -> Value {
    let meter = meter ?? install(StepMeter(.max))
    let before = meter.limit
    meter.limit = min(steps, before)
    defer { meter.limit = before }
    return try body()
  }

  /// Refuses texts, blobs and rows with more bytes than this (`SQLITE_TOOBIG`), without reading them.
  package func limitingValues<Value>(to bytes: Int, _ body: () throws -> Value) rethrows -> Value {
    let before = sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, -1)
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, min(before, Int32(clamping: bytes)))
    defer { sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, before) }
    return try body()
  }

  @discardableResult
  private func install(_ meter: StepMeter) -> StepMeter {
    self.meter = meter
    meter.watch(handle)
    return meter
  }

  /// Turns one of SQLite's `SQLITE_DBCONFIG_...` switches on or off.
  package func setOption(_ option: Int32, _ on: Bool) throws {
    let code = csqlite_set_option(handle, option, on ? 1 : 0)
    guard code == SQLITE_OK else { throw error(code) }
  }

  /// Frees memory of the page cache that is not in use.
  package func releaseMemory() { sqlite3_db_release_memory(handle) }

  // MARK: The file

  package enum CheckpointMode: Sendable {
    /// Copies what no reader prevents.
    case passive
    /// Copies everything and empties the log.
    case truncate
  }

  /// Copies the write-ahead log into the file.
  ///
  /// - Throws: `SQLiteError`; busy if a reader or writer prevents what the mode requires.
  package func checkpoint(_ mode: CheckpointMode) throws {
    let mode = mode == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
    let code = sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, nil)
    guard code == SQLITE_OK else { throw error(code) }
  }

  /// Copies the whole database. In a read transaction that has begun to read, the copy has the transaction's state.
  ///
  /// - Parameter progress: Receives the number of pages copied, and the total, after each step.
  package func backup(
    to target: SQLiteConnection, pagesPerStep: Int32, progress: (Int, Int) throws -> Void
  ) throws {
    guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
      throw target.error(sqlite3_extended_errcode(target.handle))
    }
    var code: Int32
    repeat {
      code = sqlite3_backup_step(backup, pagesPerStep)
      guard code == SQLITE_OK || code == SQLITE_DONE else { break }
      let total = Int(sqlite3_backup_pagecount(backup))
      do {
        try progress(total - Int(sqlite3_backup_remaining(backup)), total)
      } catch {
        sqlite3_backup_finish(backup)
        throw error
      }
    } while code == SQLITE_OK
    // This also sets the target's error message.
    sqlite3_backup_finish(backup)
    guard code == SQLITE_DONE else { throw target.error(code) }
  }
}
