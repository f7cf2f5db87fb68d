import CSQLite
import Support

/// A temporary index of the tiles' addresses, for a database whose maker left it out: without it each look-up of a tile
/// reads the whole table.
///
/// 1. Sort the addresses into a table of the connection's temporary database, with the row of each tile's blob. A view
///    whose tables are unknown has no rows to refer to, so its tiles are copied with their bytes.
/// 2. Join both in a view that has the columns of MBTiles' `tiles`.
///
/// SQLite keeps two megabytes of the temporary database in memory and the rest in a file without a name.
enum AddressIndex {
  /// The view; it stands for the table of tiles.
  static let tiles = "indexed_tiles"
  /// The table of addresses.
  private static let addresses = "tile_addresses"

  /// What the index is made of.
  struct Source {
    /// The table or view of tiles, quoted.
    let tiles: String
    /// The table or view behind it.
    let stored: String
    let layout: BundleLayout
  }

  /// Whether a query for one tile reads many rows: of a table without an index, or of one that SQLite would index again
  /// for each query.
  static func scans(_ lookup: String, _ connection: SQLiteConnection) -> Bool {
    guard let plan = try? connection.prepare("EXPLAIN QUERY PLAN \(lookup)") else { return false }
    while (try? plan.step()) == true {
      let step = plan.optionalText(3) ?? ""
      if step.hasPrefix("SCAN"), step != "SCAN CONSTANT ROW" { return true }
      // An index of the zooms alone leaves all tiles of a zoom to be read.
      if step.contains("AUTOMATIC") || step.hasSuffix("(zoom_level=?)") { return true }
    }
    return false
  }

  /// Makes the index.
  ///
  /// - Returns: the name of the table with the addresses; ``tiles`` is the name of the view.
  /// - Throws: `SQLiteError`; ``SQLiteError/temporaryLimit(bytes:)`` for rows that take far more room than the file.
  /// - Complexity: O(tiles log tiles).
  static func make(of source: Source, bytes: Int, _ connection: SQLiteConnection) throws -> String {
    // Rows of a view may have no end.
    let pagesMax = max(bytes / 1024, 1 << 14)
    try connection.execute(
      """
      PRAGMA query_only = OFF; PRAGMA temp.journal_mode = OFF; PRAGMA temp.max_page_count = \(pagesMax)
      """)
    defer { try? connection.execute("PRAGMA query_only = ON") }
    do {
      do {
        return try makeReferring(to: source, connection)
      } catch let error as SQLiteError where error.isInvalidSQL {
        // There are no row numbers: a view, or a table WITHOUT ROWID.
        return try makeCopying(source, connection)
      }
    } catch let error as SQLiteError where error.isDiskFull {
      // SQLite has one code for a full disk and for the limit, at which up to two megabytes are still in memory.
      guard connection.temporaryBytes >= (pagesMax - 1024) * pageBytes else { throw error }
      throw SQLiteError.temporaryLimit(bytes: pagesMax * pageBytes)
    }
  }

  /// SQLite's default, which temporary databases have.
  private static let pageBytes = 4096

  private static func makeReferring(to source: Source, _ connection: SQLiteConnection) throws -> String {
    let (rows, blobs) =
      switch source.layout {
      case .flat: ("SELECT zoom_level, tile_column, tile_row, rowid FROM main.\(source.tiles)", source.tiles)
      case .mapAndImages:
        (
          """
          SELECT map.zoom_level, map.tile_column, map.tile_row, images.rowid \
          FROM main.map CROSS JOIN main.images ON images.tile_id = map.tile_id
          """, "images"
        )
      case .numbered:
        // The first three columns of a row of the view, found again by its number.
        (
          """
          SELECT CAST(zoom_level AS INTEGER), CAST(tile_column AS INTEGER), CAST(tile_row AS INTEGER), rowid \
          FROM main.\(source.stored) WHERE CAST(zoom_level AS INTEGER) = zoom_level \
          AND CAST(tile_column AS INTEGER) = tile_column AND CAST(tile_row AS INTEGER) = tile_row
          """, source.stored
        )
      case .view: ("", "")
      }
    if rows.isEmpty { return try makeCopying(source, connection) }
    // Prepared before anything is made, because it may not be possible.
    _ = try connection.prepare(rows)
    try connection.execute(
      """
      CREATE TEMP TABLE \(addresses) (zoom_level, tile_column, tile_row, blob_row, \
      PRIMARY KEY (zoom_level, tile_column, tile_row, blob_row)) WITHOUT ROWID;
      INSERT OR IGNORE INTO \(addresses) \(rows) ORDER BY 1, 2, 3, 4;
      CREATE TEMP VIEW \(tiles) AS SELECT address.zoom_level AS zoom_level, address.tile_column AS tile_column, \
      address.tile_row AS tile_row, blobs.tile_data AS tile_data \
      FROM \(addresses) AS address CROSS JOIN main.\(blobs) AS blobs ON blobs.rowid = address.blob_row
      """)
    return addresses
  }

  private static func makeCopying(_ source: Source, _ connection: SQLiteConnection) throws -> String {
    try connection.execute(
      """
      CREATE TEMP TABLE \(tiles) AS SELECT zoom_level, tile_column, tile_row, tile_data FROM \(source.tiles);
      CREATE INDEX temp.\(addresses) ON \(tiles) (zoom_level, tile_column, tile_row)
      """)
    return tiles
  }
}

extension SQLiteError {
  /// `SQLITE_FULL`, extended in the way of SQLite's other codes, which has none of its own.
  private static let overTemporaryLimit = SQLITE_FULL | 1 << 8

  /// A temporary index is larger than it may be.
  fileprivate static func temporaryLimit(bytes: Int) -> SQLiteError {
    SQLiteError(code: overTemporaryLimit, message: "its temporary index takes more than \(bytes >> 20) MB")
  }

  /// Ended because a temporary index became too large, and not because a disk is full.
  var isOverTemporaryLimit: Bool { code == Self.overTemporaryLimit }
}

extension SQLiteConnection {
  /// The size of the file of the temporary database; 0 without one.
  fileprivate var temporaryBytes: Int {
    var file: UnsafeMutablePointer<sqlite3_file>?
    var bytes: sqlite3_int64 = 0
    guard sqlite3_file_control(handle, "temp", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK,
      let methods = file?.pointee.pMethods, methods.pointee.xFileSize?(file, &bytes) == SQLITE_OK
    else { return 0 }
    return Int(bytes)
  }
}
