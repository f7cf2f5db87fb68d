import CSQLite

/// Walking through all tiles.
extension MBTilesReader {
  /// Hands every tile to a closure: by zoom, then column, then row from the south, which is the order of the index.
  ///
  /// The bytes are gone when the closure returns. Rows that are no tiles of the grid are left out.
  /// - Complexity: O(tiles) in constant memory. Without an index the numbers, not the blobs, are sorted first, on the disk when they are many.
  public func forEachTile(_ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
    try forEachRow(ordered: true) { row in
      guard let tile = tile(of: row), !row.data.isEmpty else { return }
      try body(tile, row.data)
    }
  }

  /// Hands the tiles of a rectangle to a closure, by column, then by row from the south.
  ///
  /// - Complexity: O(tiles in the rectangle's columns) where the table has its index, otherwise O(tiles of the bundle).
  public func forEachTile(
    in range: TileRange, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    guard matrixSet.zooms.contains(range.zoom) else { return }
    let height = matrixSet[range.zoom].matrixHeight
    let south = MBTilesRow.flipped(range.rows.upperBound, matrixHeight: height)
    let north = MBTilesRow.flipped(range.rows.lowerBound, matrixHeight: height)
    let condition =
      "zoom_level = \(range.zoom) AND tile_column BETWEEN \(range.columns.lowerBound) AND \(range.columns.upperBound) "
      + "AND tile_row BETWEEN \(south) AND \(north)"
    try forEachRow(ordered: true, where: condition) { row in
      guard let tile = tile(of: row), !row.data.isEmpty else { return }
      try body(tile, row.data)
    }
  }

  /// A row of the tiles as it is stored.
  struct Row {
    let zoom: Int
    let column: Int
    /// From the south.
    let storedRow: Int
    /// False when one of the numbers is stored as something else.
    let isInteger: Bool
    /// False for NULL and text.
    let isBlob: Bool
    let data: UnsafeRawBufferPointer
  }

  /// The three numbers of a row.
  struct Place {
    let zoom: Int
    let column: Int
    /// From the south.
    let storedRow: Int
  }

  /// The tile of a row; nil when it lies outside the grid.
  func tile(of row: Row) -> TileID? {
    row.isInteger ? tile(at: Place(zoom: row.zoom, column: row.column, storedRow: row.storedRow)) : nil
  }

  /// The tile at a stored place; nil when it lies outside the grid.
  func tile(at place: Place) -> TileID? {
    guard matrixSet.zooms.contains(place.zoom) else { return nil }
    let height = matrixSet[place.zoom].matrixHeight
    // Checked first: the flip of a huge number would overflow.
    guard place.storedRow >= 0, place.storedRow < height else { return nil }
    let tile = TileID(unchecked: place.zoom, place.column, MBTilesRow.flipped(place.storedRow, matrixHeight: height))
    return matrixSet.contains(tile) ? tile : nil
  }

  /// Every row, even those that are no tiles.
  ///
  /// - Parameter condition: SQL of our own making; nil for all rows.
  func forEachRow(ordered: Bool, where condition: String? = nil, _ body: (Row) throws -> Void) throws {
    let columns = "zoom_level, tile_column, tile_row"
    let order = (condition.map { " WHERE \($0)" } ?? "") + (ordered ? " ORDER BY \(columns)" : "")
    let all = "SELECT \(columns), tile_data FROM \(schema.tiles)\(order)"
    if ordered, schema.layout == .flat, try reading({ try sorts(all) }),
      let keys = try? connection.prepare("SELECT rowid FROM \(schema.tiles)\(order)"),
      let single = try? connection.prepare("SELECT \(columns), tile_data FROM \(schema.tiles) WHERE rowid = ?1")
    {
      while try reading({ try keys.step() }) {
        single.bind(keys.int(0), at: 1)
        defer { single.reset() }
        if try reading({ try single.step() }) { try body(Self.row(single)) }
      }
      return
    }
    let statement = try reading { try connection.prepare(all) }
    while try reading({ try statement.step() }) { try body(Self.row(statement)) }
  }

  /// Every stored blob once, in no order.
  func forEachBlob(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let table = schema.layout == .mapAndImages ? "images" : schema.tiles
    let statement = try reading { try connection.prepare("SELECT tile_data FROM \(table)") }
    while try reading({ try statement.step() }) { try body(statement.bytes(0)) }
  }

  private static func row(_ statement: SQLiteStatement) -> Row {
    // Types first: reading a value may change what its type is said to be.
    let isInteger = (0..<3).allSatisfy { statement.type($0) == SQLITE_INTEGER }
    let isBlob = statement.type(3) == SQLITE_BLOB
    return Row(
      zoom: statement.int(0), column: statement.int(1), storedRow: statement.int(2), isInteger: isInteger,
      isBlob: isBlob, data: statement.bytes(3))
  }

  /// True when SQLite would collect all rows, blobs included, before it gives the first.
  private func sorts(_ sql: String) throws -> Bool {
    let plan = try connection.prepare("EXPLAIN QUERY PLAN \(sql)")
    while try plan.step() {
      if plan.text(3)?.contains("TEMP B-TREE") == true { return true }
    }
    return false
  }
}
