import CSQLite
import Testing

/// Reads a database without our own readers.
enum SQLiteFile {
  /// The rows of a query, all values as text.
  static func rows(_ path: String, _ query: String) throws -> [[String]] {
    var connection: OpaquePointer?
    defer { sqlite3_close(connection) }
    try #require(sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY, nil) == SQLITE_OK, "\(path)")
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    try #require(
      sqlite3_prepare_v2(connection, query, -1, &statement, nil) == SQLITE_OK,
      "\(query): \(String(cString: sqlite3_errmsg(connection)))")
    var rows: [[String]] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      rows.append(
        (0..<sqlite3_column_count(statement)).map { column in
          sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "NULL"
        })
    }
    return rows
  }

  /// Changes a database, or creates it.
  static func execute(_ path: String, _ statements: String) throws {
    var connection: OpaquePointer?
    defer { sqlite3_close(connection) }
    try #require(sqlite3_open(path, &connection) == SQLITE_OK, "\(path)")
    try #require(
      sqlite3_exec(connection, statements, nil, nil, nil) == SQLITE_OK, "\(String(cString: sqlite3_errmsg(connection)))"
    )
  }

  static func metadata(_ path: String) throws -> [String: String] {
    Dictionary(uniqueKeysWithValues: try rows(path, "SELECT name, value FROM metadata").map { ($0[0], $0[1]) })
  }

  /// `z/x/y` of all tiles, XYZ.
  static func tiles(_ path: String, view: String = "tiles") throws -> Set<String> {
    Set(
      try rows(path, "SELECT zoom_level, tile_column, (1 << zoom_level) - 1 - tile_row FROM \(view)").map {
        $0.joined(separator: "/")
      })
  }
}
