import CSQLite

/// Which tiles there are.
extension MBTilesReader {
  /// The zooms that have tiles, rising; not what the metadata claim.
  ///
  /// - Complexity: O(log tiles) for each zoom where the table has its index, otherwise O(tiles).
  public func zooms() throws -> [Int] {
    try reading {
      let next = try connection.prepare("SELECT min(zoom_level) FROM \(schema.keys) WHERE zoom_level > ?1")
      var zooms: [Int] = []
      var last = -1
      while true {
        next.bind(last, at: 1)
        // Text sorts after every number: once it comes there are no more zooms.
        guard try next.step(), next.type(0) == SQLITE_INTEGER else { return zooms }
        let zoom = next.int(0)
        guard matrixSet.zooms.contains(zoom) else { return zooms }
        zooms.append(zoom)
        last = zoom
        next.reset()
      }
    }
  }

  /// The number of tiles.
  ///
  /// - Complexity: O(tiles), without reading blobs.
  public func tileCount() throws -> Int {
    try reading { try count("SELECT count(*) FROM \(schema.tiles)") }
  }

  /// The number of different blobs.
  ///
  /// - Complexity: O(tiles); for a flat table all blobs are read and 8 bytes are held for each.
  public func distinctTileCount() throws -> Int {
    if schema.layout == .mapAndImages {
      return try reading { try count("SELECT count(DISTINCT tile_id) FROM map") }
    }
    var hashes: [UInt64] = []
    try forEachRow(ordered: false) { row in hashes.append(ContentHash.hash(row.data)) }
    return ContentHash.distinctCount(hashes)
  }

  /// The rectangle around the tiles of a zoom; nil when it has none.
  ///
  /// - Complexity: O(tiles of the zoom) where the table has its index.
  public func range(zoom: Int) throws -> TileRange? {
    guard matrixSet.zooms.contains(zoom) else { return nil }
    let matrix = matrixSet[zoom]
    return try reading {
      let statement = try connection.prepare(
        """
        SELECT min(tile_column), max(tile_column), min(tile_row), max(tile_row) FROM \(schema.keys) \
        WHERE zoom_level = ?1 AND tile_column BETWEEN 0 AND ?2 AND tile_row BETWEEN 0 AND ?3
        """)
      statement.bind(zoom, at: 1)
      statement.bind(matrix.matrixWidth - 1, at: 2)
      statement.bind(matrix.matrixHeight - 1, at: 3)
      guard try statement.step(), statement.type(0) == SQLITE_INTEGER else { return nil }
      let north = MBTilesRow.flipped(statement.int(3), matrixHeight: matrix.matrixHeight)
      let south = MBTilesRow.flipped(statement.int(2), matrixHeight: matrix.matrixHeight)
      return TileRange(zoom: zoom, columns: statement.int(0)...statement.int(1), rows: north...south)
    }
  }

  /// Count, bytes and rectangle of every zoom that has tiles, rising.
  ///
  /// - Complexity: O(tiles), without reading blobs.
  package func levels() throws -> [(range: TileRange, tiles: Int, bytes: Int)] {
    let query = """
      SELECT count(*), sum(length(tile_data)), min(tile_column), max(tile_column), min(tile_row), max(tile_row) \
      FROM \(schema.tiles) WHERE zoom_level = ?1 AND tile_column BETWEEN 0 AND ?2 AND tile_row BETWEEN 0 AND ?3
      """
    return try zooms().compactMap { zoom in
      try reading {
        let matrix = matrixSet[zoom]
        let statement = try connection.prepare(query)
        statement.bind(zoom, at: 1)
        statement.bind(matrix.matrixWidth - 1, at: 2)
        statement.bind(matrix.matrixHeight - 1, at: 3)
        guard try statement.step(), statement.int(0) > 0 else { return nil }
        let north = MBTilesRow.flipped(statement.int(5), matrixHeight: matrix.matrixHeight)
        let south = MBTilesRow.flipped(statement.int(4), matrixHeight: matrix.matrixHeight)
        let range = TileRange(zoom: zoom, columns: statement.int(2)...statement.int(3), rows: north...south)
        return (range, statement.int(0), statement.int(1))
      }
    }
  }

  /// A number that SQLite keeps about the file.
  package func pragma(_ name: String) throws -> Int {
    try reading { try count("PRAGMA \(name)") }
  }

  private func count(_ sql: String) throws -> Int {
    let statement = try connection.prepare(sql)
    return try statement.step() ? statement.int(0) : 0
  }
}
