import CSQLite
package import Support

/// A bundle in an SQLite database that is open for reading.
package protocol DatabaseReader: BundleReader {
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

  package func readingOneState<Result>(_ body: () throws -> Result) throws -> Result {
    try database.readingOneState(path, body)
  }

  package func leftOutRows(read: Int) -> Int { max((knownTileCount ?? read) - read, 0) }

  package func holdOneState() throws { try database.holdOneState(path) }

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

  /// - Complexity: O(log tiles) for each zoom if the table has its index, otherwise O(tiles).
  package func zooms() throws -> [Int] {
    try reading {
      let next = try connection.prepare("SELECT min(zoom_level) FROM \(keyTable) WHERE zoom_level > ?1")
      var zooms: [Int] = []
      while true {
        next.bind(1, zooms.last ?? -1)
        // Text sorts after all numbers, so it ends the search.
        guard try next.step(), next.type(0) == .integer, matrixSet.zooms.contains(next.int(0)) else { return zooms }
        zooms.append(next.int(0))
        next.reset()
      }
    }
  }

  /// - Complexity: O(tiles of the zoom) if the table has its index.
  package func range(zoom: Int) throws -> TileRange? {
    guard matrixSet.zooms.contains(zoom) else { return nil }
    return try reading {
      let statement = try connection.prepare(
        """
        SELECT min(tile_column), max(tile_column), min(tile_row), max(tile_row) FROM \(keyTable) \
        WHERE zoom_level = ?1 AND tile_column BETWEEN 0 AND ?2 AND tile_row BETWEEN 0 AND ?3
        """)
      statement.bind(1, zoom)
      statement.bind(2, matrixSet[zoom].matrixWidth - 1)
      statement.bind(3, matrixSet[zoom].matrixHeight - 1)
      guard try statement.step(), statement.type(0) == .integer,
        let first = tile(zoom: zoom, column: statement.int(0), storedRow: statement.int(2)),
        let last = tile(zoom: zoom, column: statement.int(1), storedRow: statement.int(3))
      else { return nil }
      return TileRange(
        zoom: zoom, columns: first.column...last.column, rows: min(first.row, last.row)...max(first.row, last.row))
    }
  }

  /// The tile of a rectangle that comes first by column and stored row; nil when it has none.
  ///
  /// - Complexity: O(tiles) without an index.
  package func firstTile(in range: TileRange) throws -> TileID? {
    try reading {
      let first = try connection.prepare(
        """
        SELECT tile_column, tile_row FROM \(keyTable) WHERE \(condition(range)) ORDER BY tile_column, tile_row LIMIT 1
        """)
      return try first.step() ? tile(zoom: range.zoom, column: first.int(0), storedRow: first.int(1)) : nil
    }
  }

  /// - Complexity: O(rows of the rectangle) if the table has its index.
  package func rowCount(in range: TileRange) throws -> Int? {
    try reading { try count("SELECT count(*) FROM \(keyTable) WHERE \(condition(range))") }
  }

  /// What rows of a rectangle fulfil.
  private func condition(_ range: TileRange) -> String {
    let rows = [range.rows.lowerBound, range.rows.upperBound].map {
      storedRow(of: TileID(unchecked: range.zoom, range.columns.lowerBound, $0))
    }
    return """
      zoom_level = \(range.zoom) \
      AND tile_column BETWEEN \(range.columns.lowerBound) AND \(range.columns.upperBound) \
      AND tile_row BETWEEN \(min(rows[0], rows[1])) AND \(max(rows[0], rows[1]))
      """
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

  /// - Complexity: O(tiles log tiles), 8 bytes of memory for each.
  package func forEachTile(
    byID isWanted: Bool, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    guard isWanted else { return try forEachTile(body) }
    try prepareLookups()
    var ids: [UInt64] = []
    try reading {
      let keys = try connection.prepare("SELECT zoom_level, tile_column, tile_row FROM \(keyTable)")
      while try keys.step() {
        if let tile = tile(zoom: keys.int(0), column: keys.int(1), storedRow: keys.int(2)) {
          ids.append(tile.hilbertID)
        }
      }
    }
    ids.sort()
    for (index, id) in ids.enumerated() {
      let tile = try TileID(hilbertID: id)
      if index > 0, id == ids[index - 1] { throw BundleError.repeated(tile, path: path) }
      _ = try withTile(tile) { try body(tile, $0) }
    }
  }

  package var bytesCopiedForMetadata: Int? { FileSystem.size(path) }

  /// Replaces the file by a copy that gets the change, so that readers of the present one are not disturbed.
  func replaceFile(_ progress: (Int) -> Void, changing change: (SQLiteConnection) throws -> Void) throws {
    let file = try OutputFile(target: path, replacing: true)
    do {
      try FileSystem.copy(path, over: file.path, progress: progress)
      let connection = try SQLiteConnection(
        uri: SQLiteConnection.uri(path: file.path, parameters: []), flags: SQLITE_OPEN_READWRITE)
      // A copy that is not complete has no value, so it needs no journal.
      try connection.execute("PRAGMA journal_mode = OFF")
      try connection.execute("PRAGMA trusted_schema = OFF")
      try change(connection)
    } catch {
      file.remove()
      throw error
    }
    try file.commit()
  }
}
