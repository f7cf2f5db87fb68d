import Foundation
import GRDB
import GRDBSQLite

/// A database connection that caches its prepared statements.
protocol StatementConnection {
  var sqliteConnection: OpaquePointer? { get }

  /// The statement, and the object that keeps it alive.
  func prepared(_ sql: String) throws -> (OpaquePointer, AnyObject)
}

extension Database: StatementConnection {
  func prepared(_ sql: String) throws -> (OpaquePointer, AnyObject) {
    let statement = try cachedStatement(sql: sql)
    return (statement.sqliteStatement, statement)
  }
}

/// A prepared statement of one connection, bound and stepped through SQLite's C functions, which cost less than GRDB's
/// rows in hot loops.
///
/// Use it only inside a closure in which GRDB or `ReadConnectionPool` gives access to the connection, and leave it
/// reset.
struct SQLStatement {
  private let raw: OpaquePointer
  private let connection: OpaquePointer?
  private let sql: String
  /// Keeps the statement alive.
  private let owner: AnyObject

  /// Takes the statement from the connection's cache, where it is prepared once.
  init(_ db: some StatementConnection, _ sql: String) throws {
    (raw, owner) = try db.prepared(sql)
    connection = db.sqliteConnection
    self.sql = sql
    sqlite3_reset(raw)
    sqlite3_clear_bindings(raw)
  }

  private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

  // MARK: Binding; the first parameter is 1

  func bind(_ index: Int32, _ value: Int64) { sqlite3_bind_int64(raw, index, value) }

  func bind(_ index: Int32, _ value: Int64?) {
    if let value { sqlite3_bind_int64(raw, index, value) } else { sqlite3_bind_null(raw, index) }
  }

  func bind(_ index: Int32, _ value: UInt8) { sqlite3_bind_int64(raw, index, Int64(value)) }

  func bind(_ index: Int32, _ value: String) {
    var value = value
    value.withUTF8 { bytes in
      // A null pointer, which an empty string may have, would bind NULL.
      let start = bytes.baseAddress.map { UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self) }
      if let start {
        sqlite3_bind_text(raw, index, start, Int32(bytes.count), Self.transient)
      } else {
        sqlite3_bind_text(raw, index, "", 0, Self.transient)
      }
    }
  }

  func bind(_ index: Int32, _ value: String?) {
    if let value { bind(index, value) } else { sqlite3_bind_null(raw, index) }
  }

  func bind(_ index: Int32, _ value: [UInt8]?) {
    guard let value else {
      sqlite3_bind_null(raw, index)
      return
    }
    value.withUnsafeBytes { bind(index, $0) }
  }

  func bind(_ index: Int32, _ bytes: UnsafeRawBufferPointer) {
    if let start = bytes.baseAddress, !bytes.isEmpty {
      sqlite3_bind_blob(raw, index, start, Int32(bytes.count), Self.transient)
    } else {
      sqlite3_bind_zeroblob(raw, index, 0)
    }
  }

  func bind(_ index: Int32, _ value: UUID?) {
    if let value {
      withUnsafeBytes(of: value.uuid) { bind(index, $0) }
    } else {
      sqlite3_bind_null(raw, index)
    }
  }

  func bind(_ index: Int32, _ value: Bool) { sqlite3_bind_int64(raw, index, value ? 1 : 0) }

  // MARK: Running

  /// Whether there is a row to read.
  func step() throws -> Bool {
    switch sqlite3_step(raw) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code:
      let error = DatabaseError(
        resultCode: ResultCode(rawValue: code), message: connection.map { String(cString: sqlite3_errmsg($0)) },
        sql: sql)
      sqlite3_reset(raw)
      throw error
    }
  }

  func reset() { sqlite3_reset(raw) }

  /// Runs the statement without reading a row.
  func run() throws {
    _ = try step()
    sqlite3_reset(raw)
  }

  /// The number of rows changed by the statement that ran last.
  var changes: Int { Int(sqlite3_changes(connection)) }

  /// Reads all rows.
  func all<Value>(_ read: (borrowing Self) throws -> Value) throws -> [Value] {
    defer { reset() }
    var values: [Value] = []
    while try step() { values.append(try read(self)) }
    return values
  }

  /// Reads the first row, if there is one.
  func first<Value>(_ read: (borrowing Self) throws -> Value) throws -> Value? {
    defer { reset() }
    return try step() ? try read(self) : nil
  }

  // MARK: Columns of the row; the first is 0

  func int(_ column: Int32) -> Int64 { sqlite3_column_int64(raw, column) }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(raw, column) == SQLITE_NULL }

  /// The type of a value, in SQLite's sort order.
  enum ValueType: Int, Comparable {
    case null, integer, real, text, blob

    static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }

  func type(_ column: Int32) -> ValueType {
    switch sqlite3_column_type(raw, column) {
    case SQLITE_INTEGER: .integer
    case SQLITE_FLOAT: .real
    case SQLITE_TEXT: .text
    case SQLITE_BLOB: .blob
    default: .null
    }
  }

  func optionalInt(_ column: Int32) -> Int64? { isNull(column) ? nil : int(column) }

  func text(_ column: Int32) -> String {
    guard let start = sqlite3_column_text(raw, column) else { return "" }
    let count = Int(sqlite3_column_bytes(raw, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

  /// The bytes of a text or blob; valid until the next step.
  func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(raw, column)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(raw, column)))
  }

  func blob(_ column: Int32) -> [UInt8] { [UInt8](bytes(column)) }

  func optionalBlob(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : blob(column) }

  func uuid(_ column: Int32) -> UUID? {
    let bytes = bytes(column)
    guard bytes.count == 16 else { return nil }
    return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }
}

// MARK: Keys of transactions

extension SQLStatement {
  /// Binds store, environment and id to three consecutive parameters.
  func bind(_ index: Int32, _ key: RowKey) {
    bind(index, key.store)
    bind(index + 1, key.environment)
    bind(index + 2, key.id)
  }
}

extension RowKey {
  /// Reads store, environment and id from the first three columns of a row.
  init(_ row: borrowing SQLStatement) {
    self.init(
      store: UInt8(truncatingIfNeeded: row.int(0)), environment: UInt8(truncatingIfNeeded: row.int(1)),
      id: row.text(2))
  }
}
