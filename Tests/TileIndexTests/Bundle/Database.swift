import CSQLite

/// SQLite as the tests use it: to look into bundles, and to break them, past the code that is tested.
final class Database {
  let handle: OpaquePointer

  struct Failure: Error { let message: String }

  init(_ path: String) throws {
    var opened: OpaquePointer?
    guard sqlite3_open(path, &opened) == SQLITE_OK, let opened else { throw Failure(message: "cannot open \(path)") }
    handle = opened
  }

  deinit { sqlite3_close(handle) }

  /// Runs statements; rows come back as text, `NULL` for NULL.
  @discardableResult
  func run(_ sql: String) throws -> [[String]] {
    var rows: [[String]] = []
    try withUnsafeMutablePointer(to: &rows) { rows in
      let code = sqlite3_exec(
        handle, sql,
        { rows, count, values, _ in
          let row = (0..<Int(count)).map { values?[$0].map { String(cString: $0) } ?? "NULL" }
          rows!.assumingMemoryBound(to: [[String]].self).pointee.append(row)
          return 0
        }, rows, nil)
      guard code == SQLITE_OK else { throw Failure(message: "\(String(cString: sqlite3_errmsg(handle))): \(sql)") }
    }
    return rows
  }
}
