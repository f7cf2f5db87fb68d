package import Support

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

// The ledger's values in statements.

extension SQLiteStatement {
  package func bind(_ index: Int32, _ value: UUID?) {
    if let value {
      withUnsafeBytes(of: value.uuid) { bind(index, $0) }
    } else {
      bindNull(index)
    }
  }

  /// Nil unless the column has 16 bytes.
  package func uuid(_ column: Int32) -> UUID? {
    let bytes = bytes(column)
    guard bytes.count == 16 else { return nil }
    return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }

  /// Binds store, environment and id to three consecutive parameters.
  func bind(_ index: Int32, _ key: RowKey) {
    bind(index, key.store)
    bind(index + 1, key.environment)
    bind(index + 2, key.id)
  }
}

extension RowKey {
  /// Reads store, environment and id from the first three columns of a row.
  init(_ row: SQLiteStatement) {
    self.init(
      store: UInt8(truncatingIfNeeded: row.int(0)), environment: UInt8(truncatingIfNeeded: row.int(1)),
      id: row.text(2))
  }
}

extension SQLiteConnection {
  /// A column of a table's definition.
  struct Column {
    var name: String
    var type: String
    /// The column's place in the primary key, from 1; 0 if it is not a part of it.
    var primaryKeyIndex: Int
  }

  /// The columns of a table; empty if there is no such table.
  func columns(in table: String) throws -> [Column] {
    try prepare("SELECT name, type, pk FROM pragma_table_info('\(table)')").all {
      Column(name: $0.text(0), type: $0.text(1), primaryKeyIndex: $0.int(2))
    }
  }
}

extension SQLiteConnection {
  func hasTable(_ name: String) throws -> Bool {
    let select = try cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?")
    select.bind(1, name)
    return try select.first { _ in true } ?? false
  }

  /// Whether a table or view of the connection's own has the name.
  func hasTemporary(_ name: String) throws -> Bool {
    let select = try cached("SELECT 1 FROM sqlite_temp_schema WHERE name = ?")
    select.bind(1, name)
    return try select.first { _ in true } ?? false
  }

  /// Sets a row of `cursor`.
  func setCursor(_ name: String, to value: String, at now: Int64) throws {
    let upsert = try cached(
      """
      INSERT INTO cursor (name, value, updated_at) VALUES (?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at
      """)
    upsert.bind(1, name)
    upsert.bind(2, value)
    upsert.bind(3, now)
    try upsert.run()
  }
}
