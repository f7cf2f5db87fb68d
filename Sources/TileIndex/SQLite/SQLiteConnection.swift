import CSQLite
import Support

/// One open database. Not for use by two threads at once: it is opened without SQLite's own mutexes.
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

  /// Opens a database for reading and writing; makes it if it is not there. Another process that holds it is waited for, five seconds at most.
  package convenience init(creating path: String) throws {
    try self.init(
      uri: Self.uri(path: path, parameters: []), flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
    sqlite3_busy_timeout(handle, 5000)
  }

  deinit { sqlite3_close_v2(handle) }

  /// The state of the last failed call.
  func error(_ code: Int32) -> SQLiteError {
    let isIO = code & 0xff == SQLITE_IOERR || code & 0xff == SQLITE_CANTOPEN || code & 0xff == SQLITE_FULL
    return SQLiteError(
      code: code, message: String(cString: sqlite3_errmsg(handle)),
      systemError: isIO ? sqlite3_system_errno(handle) : 0)
  }

  /// Runs statements that give no rows, or whose rows do not matter.
  package func execute(_ sql: String) throws {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code) }
  }

  /// Interrupts statements that take more steps of SQLite's machine than this; nil lets them go on.
  ///
  /// A look-up by an index takes about a hundred.
  func limitWork(to steps: Int32?) {
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

  /// A `file:` URI (RFC 8089) of a path; every byte that is not plainly a letter, a digit or a separator is escaped,
  /// so that `%`, `?` and `#` in names stay part of the name.
  static func uri(path: String, parameters: [String]) -> String {
    var uri = "file:"
    // What follows two slashes would be taken for a host.
    let path = path.hasPrefix("//") ? "/" + path.drop { $0 == "/" } : path
    uri += PercentEncoding.path(path)
    return parameters.isEmpty ? uri : uri + "?" + parameters.joined(separator: "&")
  }
}
