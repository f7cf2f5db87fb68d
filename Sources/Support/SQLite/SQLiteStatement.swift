package import CSQLite

/// A compiled statement. Parameters count from 1, columns from 0, as in SQLite.
///
/// The functions are inlinable because the ledger binds and reads millions of values.
package final class SQLiteStatement {
  @usableFromInline let raw: OpaquePointer
  @usableFromInline let database: OpaquePointer
  /// Keeps the connection open; nil in the connection's own cache, which would be a cycle.
  private let connection: SQLiteConnection?
  /// Counts the steps of a run; nil where they are not limited.
  @usableFromInline let meter: StepMeter?
  private var metered = StepMeter.Run()
  /// The first error of binding since the last step, which the next step throws.
  @exclusivity(unchecked) @usableFromInline var bindingError = SQLITE_OK

  init(_ connection: SQLiteConnection, _ sql: String, isCached: Bool) throws {
    var compiled: OpaquePointer?
    connection.meter?.begin()
    let code = sqlite3_prepare_v3(connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil)
    guard code == SQLITE_OK else { throw connection.error(code) }
    guard let compiled else { throw SQLiteError(code: SQLITE_MISUSE, message: "not a statement") }
    self.connection = isCached ? nil : connection
    database = connection.handle
    meter = connection.meter
    raw = compiled
  }

  deinit { sqlite3_finalize(raw) }

  // MARK: Binding

  /// Makes SQLite copy what is bound: a cast of -1 that Swift does not import.
  @inlinable static var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

  @inlinable func check(_ code: Int32) {
    if code != SQLITE_OK, bindingError == SQLITE_OK { bindingError = code }
  }

  @inlinable package func bind(_ index: Int32, _ value: Int64) { check(sqlite3_bind_int64(raw, index, value)) }
  @inlinable package func bind(_ index: Int32, _ value: Int) { check(sqlite3_bind_int64(raw, index, Int64(value))) }
  @inlinable package func bind(_ index: Int32, _ value: UInt8) { check(sqlite3_bind_int64(raw, index, Int64(value))) }
  @inlinable package func bind(_ index: Int32, _ value: Bool) { check(sqlite3_bind_int64(raw, index, value ? 1 : 0)) }
  @inlinable package func bind(_ index: Int32, _ value: Double) { check(sqlite3_bind_double(raw, index, value)) }
  @inlinable package func bindNull(_ index: Int32) { check(sqlite3_bind_null(raw, index)) }

  @inlinable package func bind(_ index: Int32, _ value: Int64?) {
    if let value { bind(index, value) } else { bindNull(index) }
  }

  /// The text is copied.
  @inlinable package func bind(_ index: Int32, _ value: String) {
    var value = value
    value.withUTF8 { text in
      guard let start = text.baseAddress else {
        // A null pointer would bind NULL.
        return check(sqlite3_bind_text(raw, index, "", 0, Self.transient))
      }
      start.withMemoryRebound(to: CChar.self, capacity: text.count) {
        check(sqlite3_bind_text64(raw, index, $0, sqlite3_uint64(text.count), Self.transient, UInt8(SQLITE_UTF8)))
      }
    }
  }

  @inlinable package func bind(_ index: Int32, _ value: String?) {
    if let value { bind(index, value) } else { bindNull(index) }
  }

  /// The bytes are copied.
  @inlinable package func bind(_ index: Int32, _ bytes: UnsafeRawBufferPointer) {
    if let start = bytes.baseAddress, !bytes.isEmpty {
      check(sqlite3_bind_blob64(raw, index, start, sqlite3_uint64(bytes.count), Self.transient))
    } else {
      check(sqlite3_bind_zeroblob(raw, index, 0))
    }
  }

  @inlinable package func bind(_ index: Int32, _ value: [UInt8]?) {
    if let value { value.withUnsafeBytes { bind(index, $0) } } else { bindNull(index) }
  }

  /// The bytes are not copied: they must stay valid until the statement is reset or bound again.
  @inlinable package func bind(_ index: Int32, uncopied bytes: UnsafeRawBufferPointer) {
    if let start = bytes.baseAddress, !bytes.isEmpty {
      check(sqlite3_bind_blob64(raw, index, start, sqlite3_uint64(bytes.count), nil))
    } else {
      check(sqlite3_bind_zeroblob(raw, index, 0))
    }
  }

  // MARK: Running

  /// Steps to the next row; false when there is none. After an error the statement is reset.
  @inlinable package func step() throws -> Bool {
    if bindingError == SQLITE_OK {
      let code = meter == nil ? sqlite3_step(raw) : meteredStep()
      if code == SQLITE_ROW { return true }
      if code == SQLITE_DONE { return false }
      throw failed(code)
    }
    throw failed(bindingError)
  }

  @usableFromInline func meteredStep() -> Int32 { meter?.step(raw, &metered) ?? sqlite3_step(raw) }

  @usableFromInline func failed(_ code: Int32) -> SQLiteError {
    let error = SQLiteConnection.error(code, in: database, meter)
    reset()
    return error
  }

  /// Ends the run. The bound values stay.
  @inlinable package func reset() {
    sqlite3_reset(raw)
    bindingError = SQLITE_OK
    if meter != nil { endRun() }
  }

  @usableFromInline func endRun() { metered = StepMeter.Run() }

  func clear() {
    reset()
    sqlite3_clear_bindings(raw)
  }

  /// Runs a statement whose rows are not read, and resets it.
  @inlinable package func run() throws {
    _ = try step()
    reset()
  }

  /// The number of rows changed by the connection's statement that ran last.
  @inlinable package var changes: Int { Int(sqlite3_changes(database)) }

  /// Reads all rows, and resets the statement.
  @inlinable package func all<Value>(_ read: (SQLiteStatement) throws -> Value) throws -> [Value] {
    defer { reset() }
    var values: [Value] = []
    while try step() { values.append(try read(self)) }
    return values
  }

  /// Reads the first row, if there is one, and resets the statement.
  @inlinable package func first<Value>(_ read: (SQLiteStatement) throws -> Value) throws -> Value? {
    defer { reset() }
    return try step() ? try read(self) : nil
  }

  // MARK: Columns of the row

  /// The type of a value, in SQLite's sort order.
  package enum ValueType: Int, Comparable {
    case null, integer, real, text, blob

    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }

  package func type(_ column: Int32) -> ValueType {
    switch sqlite3_column_type(raw, column) {
    case SQLITE_INTEGER: .integer
    case SQLITE_FLOAT: .real
    case SQLITE_TEXT: .text
    case SQLITE_BLOB: .blob
    default: .null
    }
  }

  package var columnCount: Int32 { sqlite3_column_count(raw) }
  package func columnName(_ column: Int32) -> String {
    sqlite3_column_name(raw, column).map { String(cString: $0) } ?? ""
  }

  @inlinable package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(raw, column) == SQLITE_NULL }

  @inlinable package func int(_ column: Int32) -> Int { Int(truncatingIfNeeded: sqlite3_column_int64(raw, column)) }
  @inlinable package func int64(_ column: Int32) -> Int64 { sqlite3_column_int64(raw, column) }
  @inlinable package func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }
  @inlinable package func double(_ column: Int32) -> Double { sqlite3_column_double(raw, column) }

  /// The text of a column, with invalid UTF-8 repaired; empty for NULL.
  @inlinable package func text(_ column: Int32) -> String { optionalText(column) ?? "" }

  /// The text of a column, with invalid UTF-8 repaired; nil for NULL.
  @inlinable package func optionalText(_ column: Int32) -> String? {
    guard let start = sqlite3_column_text(raw, column) else { return nil }
    let count = Int(sqlite3_column_bytes(raw, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  /// The bytes of a text or blob, valid until the next step or reset. Empty for NULL.
  @inlinable package func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
    // The order matters: sqlite3_column_blob may convert the value, which changes the count.
    let start = sqlite3_column_blob(raw, column)
    return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(raw, column)))
  }

  @inlinable package func blob(_ column: Int32) -> [UInt8] { [UInt8](bytes(column)) }
  @inlinable package func optionalBlob(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : blob(column) }
}
