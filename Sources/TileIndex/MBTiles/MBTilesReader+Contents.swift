import CSQLite
import Support

// MARK: - Counts and extents
extension MBTilesReader {
  /// The number of tiles.
  ///
  /// - Complexity: O(tiles), without reading blobs.
  package func tileCount() throws -> Int {
    try reading { try count("SELECT count(*) FROM \(schema.tiles)") }
  }

  /// The number of different blobs.
  ///
  /// - Complexity: O(tiles); for a flat table all blobs are read, and 8 bytes of memory taken for each.
  package func distinctTileCount() throws -> Int {
    if schema.layout == .mapAndImages {
      return try reading { try count("SELECT count(DISTINCT tile_id) FROM map") }
    }
    var hashes: [UInt64] = []
    try forEachRow(ordered: false) { row in hashes.append(ContentHash.hash(row.data)) }
    return ContentHash.distinctCount(hashes)
  }

  /// Count, bytes and rectangle of every zoom that has tiles, in ascending order.
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
        statement.bind(1, zoom)
        statement.bind(2, matrix.matrixWidth - 1)
        statement.bind(3, matrix.matrixHeight - 1)
        guard try statement.step(), statement.int(0) > 0 else { return nil }
        let ends = [4, 5].map { flipped(statement.int($0), matrixHeight: matrix.matrixHeight) }.sorted()
        let range = TileRange(zoom: zoom, columns: statement.int(2)...statement.int(3), rows: ends[0]...ends[1])
        return (range, statement.int(0), statement.int(1))
      }
    }
  }
}

// MARK: - Walking through tiles
extension MBTilesReader {
  /// Passes every tile to a closure: by zoom, then column, then row from the south, which is the order of the index.
  ///
  /// The bytes are valid until the closure returns. Rows whose address is not in the grid are skipped.
  /// - Complexity: O(tiles) in constant memory. Without an index the addresses, not the blobs, are sorted first, on
  ///   disk if there are many.
  package func forEachTile(_ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
    try forEachRow(ordered: true) { row in
      guard let tile = tile(of: row), !row.data.isEmpty else { return }
      try body(tile, row.data)
    }
  }

  /// Passes the tiles in a rectangle to a closure, by column, then by row from the south.
  ///
  /// - Complexity: O(tiles in the rectangle's columns) if the table has its index, otherwise O(tiles of the bundle).
  package func forEachTile(
    in range: TileRange, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    guard matrixSet.zooms.contains(range.zoom) else { return }
    let height = matrixSet[range.zoom].matrixHeight
    let ends = [range.rows.lowerBound, range.rows.upperBound].map { flipped($0, matrixHeight: height) }.sorted()
    let condition =
      "zoom_level = \(range.zoom) AND tile_column BETWEEN \(range.columns.lowerBound) AND \(range.columns.upperBound) "
      + "AND tile_row BETWEEN \(ends[0]) AND \(ends[1])"
    try forEachRow(ordered: true, where: condition) { row in
      guard let tile = tile(of: row), !row.data.isEmpty else { return }
      try body(tile, row.data)
    }
  }

  /// A stored row of the tiles.
  struct Row {
    let zoom: Int
    let column: Int
    /// From the south.
    let storedRow: Int
    /// False when one of the three numbers is not stored as an integer.
    let isInteger: Bool
    /// False for NULL and text.
    let isBlob: Bool
    let data: UnsafeRawBufferPointer
  }

  /// The stored address of a tile.
  struct StoredKey {
    let zoom: Int
    let column: Int
    /// From the south.
    let storedRow: Int
  }

  /// The tile of a row; nil when its address is not in the grid.
  func tile(of row: Row) -> TileID? {
    row.isInteger ? tile(at: StoredKey(zoom: row.zoom, column: row.column, storedRow: row.storedRow)) : nil
  }

  /// The tile of a stored address; nil when it is not in the grid.
  func tile(at place: StoredKey) -> TileID? {
    guard matrixSet.zooms.contains(place.zoom) else { return nil }
    let height = matrixSet[place.zoom].matrixHeight
    // Checked first, because flipping a huge number would overflow.
    guard place.storedRow >= 0, place.storedRow < height else { return nil }
    let tile = TileID(unchecked: place.zoom, place.column, flipped(place.storedRow, matrixHeight: height))
    return matrixSet.contains(tile) ? tile : nil
  }

  /// Every row, including those whose address is not in the grid.
  ///
  /// - Parameter condition: trusted SQL; nil for all rows.
  func forEachRow(ordered: Bool, where condition: String? = nil, _ body: (Row) throws -> Void) throws {
    let columns = "zoom_level, tile_column, tile_row"
    let order = (condition.map { " WHERE \($0)" } ?? "") + (ordered ? " ORDER BY \(self.order)" : "")
    let all = "SELECT \(columns), tile_data FROM \(schema.tiles)\(order)"
    if ordered, schema.layout == .flat, try reading({ try sorts(all) }),
      let keys = try? connection.prepare("SELECT rowid FROM \(schema.tiles)\(order)"),
      let single = try? connection.prepare("SELECT \(columns), tile_data FROM \(schema.tiles) WHERE rowid = ?1")
    {
      while try reading({ try keys.step() }) {
        single.bind(1, keys.int(0))
        defer { single.reset() }
        if try reading({ try single.step() }) { try body(Self.row(single)) }
      }
      return
    }
    let statement = try reading { try connection.prepare(all) }
    while try reading({ try statement.step() }) { try body(Self.row(statement)) }
  }

  /// Every stored blob once, in no particular order.
  func forEachBlob(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let table = schema.layout == .mapAndImages ? "images" : schema.tiles
    let statement = try reading { try connection.prepare("SELECT tile_data FROM \(table)") }
    while try reading({ try statement.step() }) { try body(statement.bytes(0)) }
  }

  private static func row(_ statement: SQLiteStatement) -> Row {
    // Types are read first: reading a value may convert it.
    let isInteger = (0..<3).allSatisfy { statement.type($0) == .integer }
    let isBlob = statement.type(3) == .blob
    return Row(
      zoom: statement.int(0), column: statement.int(1), storedRow: statement.int(2), isInteger: isInteger,
      isBlob: isBlob, data: statement.bytes(3))
  }

  /// True when SQLite would sort all rows, including blobs, before it returns the first.
  private func sorts(_ sql: String) throws -> Bool {
    let plan = try connection.prepare("EXPLAIN QUERY PLAN \(sql)")
    while try plan.step() {
      if plan.optionalText(3)?.contains("TEMP B-TREE") == true { return true }
    }
    return false
  }
}

// MARK: - What other containers do otherwise
extension MBTilesReader {
  package func places() throws -> StoredPlaces { try placeTable()?.places() ?? StoredPlaces(of: path) }

  package func placeTable() throws -> PlaceTable? { try PlaceTable(path: path, connection, guarded: reading) }

  package var knownTileCount: Int? { try? tileCount() }

  package var knownReadCount: Int? { layout == .mapAndImages ? try? distinctTileCount() : knownTileCount }

  package var putOrder: (any PutOrder)? { storesRowsFromNorth ? nil : MapRowOrder(self) }

  /// Without reading the blobs.
  package func forEachTileSize(_ body: (TileID, Int) throws -> Void) throws {
    try reading {
      let statement = try connection.prepare(
        "SELECT zoom_level, tile_column, tile_row, length(tile_data) FROM \(schema.tiles) ORDER BY \(order)")
      while try statement.step() {
        let key = StoredKey(zoom: statement.int(0), column: statement.int(1), storedRow: statement.int(2))
        if let tile = tile(at: key), statement.int(3) > 0 { try body(tile, statement.int(3)) }
      }
    }
  }

  /// Each stored blob is read once.
  package func inspection(_ progress: @escaping (Int) -> Void) throws -> BundleInspection {
    let hasSharedBlobs = layout == .mapAndImages
    var blobs = BundleInspection.Tally(countsDistinct: !hasSharedBlobs, progress)
    try forEachBlob { blobs.insert($0) }
    var found = BundleInspection(
      self, .mbtiles, fileBytes: FileSystem.size(path), tiles: try tileCount(),
      distinctTiles: hasSharedBlobs ? try distinctTileCount() : blobs.distinct,
      levels: try levels().map { BundleInspection.Level($0.range, tiles: $0.tiles, bytes: $0.bytes) }, blobs)
    found.pageBytes = try pragma("page_size")
    found.applicationID = try pragma("application_id")
    found.layout = layout
    return found
  }

  /// Other rows stay as they are, also where a name occurs twice.
  package func replaceMetadata(
    _ rows: [StoredMetadata.Entry], changed name: String, progress: (Int) -> Void
  ) throws {
    let columns = try reading { try connection.columns(of: "metadata") }
    let value = rows.first { $0.name == name }?.value
    try replaceFile(progress) { connection in
      if columns.isEmpty { try connection.execute("CREATE TABLE metadata (name text, value text)") }
      let delete = try connection.prepare("DELETE FROM metadata WHERE name = ?1")
      let update = try connection.prepare("UPDATE metadata SET value = ?2 WHERE name = ?1")
      let insert = try connection.prepare("INSERT INTO metadata (name, value) VALUES (?1, ?2)")
      let statement = value == nil ? delete : metadata[name] == nil ? insert : update
      statement.bind(1, name)
      if let value { statement.bind(2, value) }
      try statement.run()
    }
  }
}

extension BundleReader {
  /// Every tile with the size of its bytes, by zoom, column and row from the south.
  ///
  /// - Complexity: that of ``forEachTileSize(_:)``, and 32 bytes of memory for each tile.
  package func sizedTiles() throws -> [SizedTile] {
    var tiles: [SizedTile] = []
    try forEachTileSize { tiles.append(SizedTile($0, bytes: $1)) }
    return tiles
  }
}

/// A tile and the size of its blob.
package struct SizedTile: Hashable, Sendable {
  package let tile: TileID
  package let bytes: Int

  package init(_ tile: TileID, bytes: Int) { (self.tile, self.bytes) = (tile, bytes) }
}
