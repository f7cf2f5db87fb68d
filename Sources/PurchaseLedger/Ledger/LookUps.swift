import GRDB
import GRDBSQLite
import Synchronization

/// Connections that only read, for single statements: GRDB's pool costs several times what a look-up does.
///
/// Any thread may look up at any time; as many connections are kept as were in use at once.
final class LookUps: Sendable {
  private let path: String
  private let files: OpenedFiles
  private let idle = Mutex<[LookUpConnection]>([])

  init(path: String, files: OpenedFiles) { (self.path, self.files) = (path, files) }

  /// Closes the connections, which are idle.
  func close() { idle.withLock { $0.removeAll() } }

  /// Runs `work` with a connection of its own. Each statement in it sees one commit.
  func read<Value>(_ work: (LookUpConnection) throws -> Value) throws -> Value {
    let connection = try idle.withLock { $0.popLast() } ?? opened()
    defer { idle.withLock { $0.append(connection) } }
    return try work(connection)
  }

  private func opened() throws -> LookUpConnection {
    let connection = try LookUpConnection(path: path)
    // The name may lead to another file by now.
    try files.check()
    return connection
  }
}

/// One reading connection with the statements it has prepared.
///
/// Sendable because only one thread uses it at a time: whoever took it from `LookUps`.
final class LookUpConnection: StatementConnection, @unchecked Sendable {
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
    // A look-up goes to a few pages all over the file: of a million transactions hardly any is in a cache that a connection could have for itself, and the
    // system's copy is read in place. The file never shrinks while it is open.
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
