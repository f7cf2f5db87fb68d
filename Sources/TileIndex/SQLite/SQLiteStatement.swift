import CSQLite

/// A compiled statement. Parameters count from 1, columns from 0, as in SQLite.
package final class SQLiteStatement {
  private let connection: SQLiteConnection
  private let handle: OpaquePointer

  init(_ connection: SQLiteConnection, _ sql: String) throws {
    var compiled: OpaquePointer?
    let code = sqlite3_prepare_v3(connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil)
    guard code == SQLITE_OK, let compiled else { throw connection.error(code) }
    self.connection = connection
    handle = compiled
  }

  deinit { sqlite3_finalize(handle) }

  package func bind(_ value: Int, at index: Int32) { sqlite3_bind_int64(handle, index, sqlite3_int64(value)) }

  package func bind(_ value: Double, at index: Int32) { sqlite3_bind_double(handle, index, value) }
  package func bindNull(at index: Int32) { sqlite3_bind_null(handle, index) }

  /// The text is copied.
  package func bind(_ value: String, at index: Int32) throws {
    // SQLITE_TRANSIENT is a cast of -1 that Swift does not import.
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    let code = sqlite3_bind_text64(
      handle, index, value, sqlite3_uint64(value.utf8.count), transient, UInt8(SQLITE_UTF8))
    guard code == SQLITE_OK else { throw connection.error(code) }
  }

  /// The bytes are not copied: they must stay valid until the statement is reset or bound again.
  package func bind(_ bytes: UnsafeRawBufferPointer, at index: Int32) throws {
    let code = sqlite3_bind_blob64(handle, index, bytes.baseAddress, sqlite3_uint64(bytes.count), nil)
    guard code == SQLITE_OK else { throw connection.error(code) }
  }

  /// Steps to the next row; false when there is none. After an error the statement is reset.
  package func step() throws -> Bool {
    let code = sqlite3_step(handle)
    if code == SQLITE_ROW { return true }
    if code == SQLITE_DONE { return false }
    let error = connection.error(code)
    sqlite3_reset(handle)
    throw error
  }

  /// Runs a statement that returns no rows, and resets it.
  package func run() throws {
    _ = try step()
    sqlite3_reset(handle)
  }

  package func reset() { sqlite3_reset(handle) }

  package func int(_ column: Int32) -> Int { Int(sqlite3_column_int64(handle, column)) }
  package func double(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }
  func type(_ column: Int32) -> Int32 { sqlite3_column_type(handle, column) }
  var columnCount: Int32 { sqlite3_column_count(handle) }

  /// The text of a column, with invalid UTF-8 repaired; nil for NULL.
  package func text(_ column: Int32) -> String? {
    guard let text = sqlite3_column_text(handle, column) else { return nil }
    let count = Int(sqlite3_column_bytes(handle, column))
    return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
  }

  /// The bytes of a column, valid until the next step or reset. Empty for NULL.
  package func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
    // The order matters: sqlite3_column_blob may convert the value, which changes the count.
    let start = sqlite3_column_blob(handle, column)
    return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
  }
}

extension SQLiteConnection {
  /// Compiles a statement that will run often.
  package func prepare(_ sql: String) throws -> SQLiteStatement { try SQLiteStatement(self, sql) }
}
