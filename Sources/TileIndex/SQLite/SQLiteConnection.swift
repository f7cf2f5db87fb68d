import CSQLite
import Support

/// An open database. For one thread at a time: it is opened without SQLite's own mutexes.
package final class SQLiteConnection {
  let handle: OpaquePointer

  /// - Parameters:
  ///   - uri: a path, or a `file:` URI with its path escaped by ``uri(path:parameters:)``.
  ///   - flags: `SQLITE_OPEN_...`; URI, NOMUTEX and EXRESCODE are added.
  init(uri: String, flags: Int32) throws {
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
  }

  /// Opens a database for reading and writing; creates it if missing. Waits up to five seconds for another process's
  /// lock.
  package convenience init(creating path: String) throws {
    try self.init(
      uri: Self.uri(path: path, parameters: []), flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
    sqlite3_busy_timeout(handle, 5000)
  }

  deinit { sqlite3_close_v2(handle) }

  /// The error of the last failed call.
  func error(_ code: Int32) -> SQLiteError {
    let isIO = code & 0xff == SQLITE_IOERR || code & 0xff == SQLITE_CANTOPEN || code & 0xff == SQLITE_FULL
    return SQLiteError(
      code: code, message: String(cString: sqlite3_errmsg(handle)),
      systemError: isIO ? sqlite3_system_errno(handle) : 0)
  }

  /// Runs statements that return no rows, or whose rows are ignored.
  package func execute(_ sql: String) throws {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code) }
  }

  /// Interrupts statements that take more steps of SQLite's virtual machine than this; nil removes the limit.
  ///
  /// A lookup by an index takes about a hundred.
  package func limitWork(to steps: Int32?) {
    if let steps {
      sqlite3_progress_handler(handle, steps, { _ in 1 }, nil)
    } else {
      sqlite3_progress_handler(handle, 0, nil, nil)
    }
  }

  /// Turns one of SQLite's `SQLITE_DBCONFIG_...` switches on or off.
  func setOption(_ option: Int32, _ on: Bool) throws {
    let code = csqlite_set_option(handle, option, on ? 1 : 0)
    guard code == SQLITE_OK else { throw error(code) }
  }

  /// A `file:` URI (RFC 8089) of a path. Every byte other than a letter, digit or separator is escaped, so that `%`,
  /// `?` and `#` in names remain part of the name.
  static func uri(path: String, parameters: [String]) -> String {
    var uri = "file:"
    // Text after two slashes would be parsed as a host.
    let path = path.hasPrefix("//") ? "/" + path.drop { $0 == "/" } : path
    uri += PercentEncoding.path(path)
    return parameters.isEmpty ? uri : uri + "?" + parameters.joined(separator: "&")
  }
}
