import CSQLite
import Testing

/// A database that a test changes while the server runs.
final class Database {
  private var handle: OpaquePointer?

  init(_ path: String) throws {
    try #require(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK, "\(path)")
    sqlite3_busy_timeout(handle, 5000)
  }

  deinit { sqlite3_close(handle) }

  func execute(_ sql: String) throws {
    try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK, "\(String(cString: sqlite3_errmsg(handle)))")
  }
}
