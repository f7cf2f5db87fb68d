import GRDB
import GRDBSQLite
import Synchronization

/// A pool of read-only connections for single statements: GRDB's pool costs several times as much as a primary-key
/// query.
///
/// Any thread may read at any time; the pool keeps as many connections as were in use at once.
final class ReadConnectionPool: Sendable {
  private let path: String
  private let files: OpenedFiles
  private let idle = Mutex<[ReadConnection]>([])

  init(path: String, files: OpenedFiles) { (self.path, self.files) = (path, files) }

  /// Closes the idle connections.
  func close() { idle.withLock { $0.removeAll() } }

  /// Runs `work` with a connection of its own. Each statement sees the last commit at its start.
  func read<Value>(_ work: (ReadConnection) throws -> Value) throws -> Value {
    let connection = try idle.withLock { $0.popLast() } ?? opened()
    defer { idle.withLock { $0.append(connection) } }
    return try work(connection)
  }

  private func opened() throws -> ReadConnection {
    let connection = try ReadConnection(path: path)
    // The path may name another file by now.
    try files.check()
    return connection
  }
}

/// A read-only connection with its cache of prepared statements.
///
/// Sendable because one thread at a time uses it: the one that took it from `ReadConnectionPool`.
final class ReadConnection: StatementConnection, @unchecked Sendable {
  let sqliteConnection: OpaquePointer?
  private var statements: [String: OpaquePointer] = [:]

  fileprivate init(path: String) throws {
    var connection: OpaquePointer?
    let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE
    let code = sqlite3_open_v2(LedgerDatabase.nameToRead(path), &connection, flags, nil)
    guard code == SQLITE_OK else {
      let error = DatabaseError(
        resultCode: ResultCode(rawValue: code), message: connection.map { String(cString: sqlite3_errmsg($0)) })
      sqlite3_close_v2(connection)
      throw error
    }
    sqliteConnection = connection
    sqlite3_extended_result_codes(connection, 1)
    sqlite3_busy_timeout(connection, 30_000)
    // Reads touch few pages all over the file, so a cache per connection rarely hits; memory mapping uses the system's
    // page cache instead. It is safe because the file never shrinks while it is open.
    sqlite3_exec(connection, "PRAGMA cache_size = -16384; PRAGMA mmap_size = \(1 << 34)", nil, nil, nil)
  }

  deinit {
    for statement in statements.values { sqlite3_finalize(statement) }
    sqlite3_close_v2(sqliteConnection)
  }

  func prepared(_ sql: String) throws -> (OpaquePointer, AnyObject) {
    if let known = statements[sql] { return (known, self) }
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v3(sqliteConnection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement else {
      throw DatabaseError(
        resultCode: ResultCode(rawValue: code), message: sqliteConnection.map { String(cString: sqlite3_errmsg($0)) },
        sql: sql)
    }
    statements[sql] = statement
    return (statement, self)
  }
}
