package import Support

/// A bundle in an SQLite database that is open for reading.
package protocol DatabaseReader: ChangingBundle {
  var database: BundleDatabase { get }
  /// Selects the bytes of a tile by its zoom, column and stored row.
  var lookup: SQLiteStatement { get }
  /// The smallest table that has the addresses of all tiles, for SQL.
  var keyTable: String { get }
  /// The tile of a stored address; nil when it is not in the grid.
  func tile(zoom: Int, column: Int, storedRow: Int) -> TileID?
  /// The row as the tables have it.
  func storedRow(of tile: TileID) -> Int
}

extension DatabaseReader {
  package var connection: SQLiteConnection { database.connection }
  package var version: UInt64 { database.version }

  /// Runs a query, checks that what it read is of one state, and converts SQLite's errors to errors that name the
  /// bundle.
  package func reading<Result>(_ body: () throws -> Result) throws -> Result {
    try database.reading(path, body)
  }

  /// The value of a numeric pragma.
  package func pragma(_ name: String) throws -> Int { try reading { try count("PRAGMA \(name)") } }

  /// The number that a query gives.
  func count(_ sql: String) throws -> Int {
    let statement = try connection.prepare(sql)
    return try statement.step() ? statement.int(0) : 0
  }

  /// Binds zoom, column and stored row to the first three parameters.
  func bind(_ tile: TileID, to statement: SQLiteStatement) {
    statement.bind(1, tile.zoom)
    statement.bind(2, tile.column)
    statement.bind(3, storedRow(of: tile))
  }

  /// The tile of a rectangle that comes first by column and stored row; nil when it has none.
  ///
  /// - Complexity: O(tiles) without an index.
  func firstTile(in range: TileRange) throws -> TileID? {
    try reading {
      let rows = [range.rows.lowerBound, range.rows.upperBound].map {
        storedRow(of: TileID(unchecked: range.zoom, range.columns.lowerBound, $0))
      }
      let first = try connection.prepare(
        """
        SELECT tile_column, tile_row FROM \(keyTable) WHERE zoom_level = \(range.zoom) \
        AND tile_column BETWEEN \(range.columns.lowerBound) AND \(range.columns.upperBound) \
        AND tile_row BETWEEN \(min(rows[0], rows[1])) AND \(max(rows[0], rows[1])) \
        ORDER BY tile_column, tile_row LIMIT 1
        """)
      return try first.step() ? tile(zoom: range.zoom, column: first.int(0), storedRow: first.int(1)) : nil
    }
  }

  /// Passes the bytes of a tile to a closure without copying them; nil when the bundle has no such tile.
  func withStoredTile<Result>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result? {
    guard matrixSet.contains(tile) else { return nil }
    bind(tile, to: lookup)
    return try withBlob(of: lookup, body)
  }

  /// Passes the first column of a query's first row to a closure without copying it, and resets the query. NULL and
  /// empty blobs count as absent tiles.
  func withBlob<Result>(
    of query: SQLiteStatement, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result? {
    defer { query.reset() }
    guard try query.step() else { return nil }
    let bytes = query.bytes(0)
    return bytes.isEmpty ? nil : try body(bytes)
  }

  /// Runs a read that never waits for a disk.
  ///
  /// `.wouldWait` where reads without waiting are impossible.
  func residentRead<Value>(_ body: () throws -> Value?) throws -> ResidentRead<Value> {
    guard let file = database.residentFile, !scansForTiles else { return .wouldWait }
    file.setMayWait(false)
    defer { file.setMayWait(true) }
    return try database.reading(path) {
      do {
        // A view with endless rows would block the event loop as well.
        return try connection.limitingSteps(to: 20_000, body).map(ResidentRead.found) ?? .absent
      } catch let error as SQLiteError where error.code == ResidentFileSystem.wouldWait || error.isOverBudget {
        return .wouldWait
      }
    }
  }
}
