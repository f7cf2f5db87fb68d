package import Support

/// Reads the tiles of an MBTiles bundle from any producer: flat tables and views, integer and text ids, with or without
/// metadata, from read-only media, with changes still in a write-ahead log. Never writes to the bundle or beside it.
///
/// A reader has one connection and one prepared statement and is for one thread at a time. Opening takes about 0.1 ms:
/// open one reader per thread. After a bundle is replaced by a rename, open readers keep the old file. What a program
/// writes by SQLite's rules is visible at the next read; other changes of the file make reads throw `.changed`.
package final class MBTilesReader: DatabaseReader {
  /// The file, as the caller named it.
  package let path: String
  /// The grid, from the metadata; WebMercatorQuad if they name none.
  package let matrixSet: TileMatrixSet
  /// The metadata as found; empty when the table is missing.
  package let metadata: StoredMetadata
  /// The layout of the tables.
  package var layout: BundleLayout { schema.layout }

  /// True where rows are stored from the north, against MBTiles 1.3: the stated bounds fit only so.
  package let storesRowsFromNorth: Bool

  package let database: BundleDatabase
  private(set) var schema: BundleSchema
  package private(set) var lookup: SQLiteStatement
  /// Whether look-ups compare tiles with their hashes (``TileHashes``), where there are any.
  var checksTiles = false
  private lazy var hashLookup = try? schema.hasHashes ? TileHashes.lookup(connection) : nil
  package private(set) lazy var scansForTiles = AddressIndex.scans(Self.lookup(in: schema), connection)

  /// Opens an MBTiles file.
  ///
  /// - Parameters:
  ///   - path: an MBTiles file.
  ///   - matrixSet: the grid of a bundle whose metadata neither name a well-known grid nor define one.
  /// - Throws: ``BundleError`` with `.notFound`, `.malformed`, `.busy` or `.readFailed`.
  package init(path: String, matrixSet: TileMatrixSet? = nil) throws {
    self.path = path
    let database = try BundleAccess.open(path)
    let connection = database.connection
    self.database = database
    (schema, metadata, lookup) = try database.reading(path) {
      let schema = try BundleSchema(connection, path: path)
      return (
        schema, try Self.readMetadata(connection, path: path), try connection.prepare(Self.lookup(in: schema))
      )
    }
    if let matrixSet {
      self.matrixSet = matrixSet
    } else if let known = try metadata.matrixSet(path: path) {
      self.matrixSet = known
    } else if schema.tiles == MBTilesSchema.otherGridView {
      throw BundleError(
        .malformed, path: path,
        "it has \(schema.tiles) but its metadata do not name a \(MetadataKey.matrixSet)")
    } else {
      self.matrixSet = .webMercatorQuad
    }
    storesRowsFromNorth = try database.reading(path) { [schema, metadata, matrixSet = self.matrixSet] in
      try Self.storesRowsFromNorth(schema, metadata, matrixSet, connection)
    }
  }

  package var placementWarning: BundleError? {
    storesRowsFromNorth ? .rowsFlipped(path, from: "north", not: "south") : nil
  }

  /// Looks at the first column of the deepest zoom, and where that contradicts the bounds at those of the others: none
  /// of them may contradict rows from the north. Bundles of our own writer are as they should be, also sparse ones,
  /// some of whose zooms lie beside their bounds.
  ///
  /// - Complexity: three look-ups; bounded for a table without an index, which is then taken to be as it should.
  private static func storesRowsFromNorth(
    _ schema: BundleSchema, _ metadata: StoredMetadata, _ matrixSet: TileMatrixSet, _ connection: SQLiteConnection
  ) throws -> Bool {
    guard schema.hasIntegerIDs != true, let bounds = metadata.tellingBounds else { return false }
    func number(_ what: String, _ condition: String) throws -> Int? {
      let statement = try connection.prepare("SELECT \(what) FROM \(schema.keys) WHERE \(condition)")
      guard try statement.step(), statement.type(0) == .integer else { return nil }
      return statement.int(0)
    }
    /// The positions of the first column of a zoom, read from the south and from the north.
    func positions(_ zoom: Int) throws -> (south: StatedPosition, north: StatedPosition)? {
      guard let column = try number("min(tile_column)", "zoom_level = \(zoom) AND tile_column >= 0") else { return nil }
      let ofColumn = "zoom_level = \(zoom) AND tile_column = \(column)"
      let height = matrixSet[zoom].matrixHeight
      guard let first = try number("min(tile_row)", ofColumn), let last = try number("max(tile_row)", ofColumn),
        first >= 0, last < height
      else { return nil }
      func position(_ rows: ClosedRange<Int>) -> StatedPosition {
        StatedPosition(column: column, rows: rows, zoom: zoom, to: bounds, in: matrixSet)
      }
      let flipped = MBTilesRow.flipped(last, matrixHeight: height)...MBTilesRow.flipped(first, matrixHeight: height)
      return (position(flipped), position(first...last))
    }
    do {
      return try connection.limitingSteps(to: 100_000) {
        var zoom = matrixSet.zooms.upperBound
        var isContradicted = false
        while let next = try number("max(zoom_level)", "zoom_level <= \(zoom)"), matrixSet.zooms.contains(next) {
          if let found = try positions(next) {
            if !isContradicted, !found.south.isContradicted(by: found.north) { return false }
            if found.north.isContradicted(by: found.south) { return false }
            isContradicted = true
          }
          zoom = next - 1
        }
        return isContradicted
      }
    } catch let error as SQLiteError where error.isOverBudget {
      return false
    }
  }

  /// The stored row of a tile, or the row of a stored tile.
  func flipped(_ row: Int, matrixHeight: Int) -> Int {
    storesRowsFromNorth ? row : MBTilesRow.flipped(row, matrixHeight: matrixHeight)
  }

  /// The order of all walks: by zoom, column and row from the south.
  var order: String { "zoom_level, tile_column, tile_row\(storesRowsFromNorth ? " DESC" : "")" }

  /// Passes a tile's bytes to a closure without copying them; nil when the bundle has no such tile. The bytes are valid
  /// until the closure returns.
  ///
  /// - Complexity: O(log tiles); O(tiles) where the table has no index.
  package func withTile<Result>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result? {
    try reading { try withCheckedTile(tile, body) }
  }

  /// - Throws: ``BundleError`` with `.damagedTile` where tiles are checked.
  private func withCheckedTile<Result>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result? {
    guard checksTiles, schema.hasHashes else { return try withStoredTile(tile, body) }
    return try withStoredTile(tile) { bytes in
      if let stored = try foundHash(of: tile), stored != ContentHash.hash(bytes) {
        // A change of the file ends the reader: it is not the tile that is damaged then.
        try reading {}
        throw BundleError.damaged(tile, path: path)
      }
      return try body(bytes)
    }
  }

  private func foundHash(of tile: TileID) throws -> UInt64? {
    guard matrixSet.contains(tile), let hashLookup else { return nil }
    bind(tile, to: hashLookup)
    defer { hashLookup.reset() }
    return try TileHashes.hash(hashLookup)
  }

  package var storesTileHashes: Bool { schema.hasHashes }

  package func storedHash(of tile: TileID) throws -> UInt64? { try reading { try foundHash(of: tile) } }

  private static func lookup(in schema: BundleSchema) -> String {
    "SELECT tile_data FROM \(schema.tiles) WHERE zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3"
  }

  package func prepareLookups() throws {
    guard scansForTiles else { return }
    try database.keepingToThisState(path) {
      schema.keys = try AddressIndex.make(
        of: AddressIndex.Source(tiles: schema.tiles, stored: schema.stored, layout: layout),
        bytes: BundleAccess.budgetBytes(path),
        connection)
      schema.tiles = AddressIndex.tiles
      lookup = try connection.prepare(Self.lookup(in: schema))
    }
    scansForTiles = false
  }

  package var keyTable: String { schema.keys }

  package func tile(zoom: Int, column: Int, storedRow: Int) -> TileID? {
    tile(at: StoredKey(zoom: zoom, column: column, storedRow: storedRow))
  }

  package func storedRow(of tile: TileID) -> Int {
    flipped(tile.row, matrixHeight: matrixSet[tile.zoom].matrixHeight)
  }

  package func withResidentTile<Value>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Value
  ) throws -> ResidentRead<Value> {
    try residentRead { try withCheckedTile(tile, body) }
  }

  private static func readMetadata(_ connection: SQLiteConnection, path: String) throws -> StoredMetadata {
    let columns = try connection.columns(of: "metadata")
    guard columns["name"] != nil, columns["value"] != nil else { return StoredMetadata([]) }
    return try MetadataLimits.rows(of: "metadata", path: path, connection)
  }
}
