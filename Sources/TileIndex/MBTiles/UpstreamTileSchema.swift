import CSQLite
import Support

/// The tables of a ``UpstreamTileStore``, and the eviction of tiles from them.
enum UpstreamTileSchema {
  /// `used` may lack the uses since the last eviction of a day. Rows without a tile are tiles that do not exist.
  private static let statements = [
    "PRAGMA application_id = \(MBTilesSchema.applicationID)",
    "CREATE TABLE metadata (name text, value text)",
    "CREATE UNIQUE INDEX metadata_name ON metadata (name)",
    "CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB)",
    "CREATE UNIQUE INDEX tile_place ON tiles (zoom_level, tile_column, tile_row)",
    """
    CREATE TABLE upstream (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, fetched INTEGER, expires \
    INTEGER, \
    used INTEGER, etag TEXT, modified TEXT, PRIMARY KEY (zoom_level, tile_column, tile_row)) WITHOUT ROWID
    """,
    // The archive of the tiles; empty until one was read.
    "CREATE TABLE upstream_archive (identity TEXT)",
  ]

  private static let names: Set = ["metadata", "tiles", "upstream", "tile_place", "upstream_archive"]

  /// Creates the tables of an empty file; refuses a file that has others.
  static func prepare(_ connection: SQLiteConnection, _ metadata: [StoredMetadata.Entry], path: String) throws {
    // Checked before anything is written, so that an unrelated bundle is not changed.
    try check(connection, path: path)
    // The log survives the end of the process; a power failure may lose the last tiles, never the file.
    try connection.execute("PRAGMA journal_mode = WAL")
    try connection.execute("PRAGMA synchronous = NORMAL")
    try connection.transaction(.immediate) {
      // Another process may have created the tables meanwhile.
      if try check(connection, path: path).isEmpty {
        for statement in statements { try connection.execute(statement) }
      }
      try write(metadata, connection)
    }
  }

  /// The names of the file's tables and indexes: none, or those of a store of tiles. A view of such a name is another
  /// program's.
  @discardableResult
  private static func check(_ connection: SQLiteConnection, path: String) throws -> Set<String> {
    var names: Set<String> = []
    let tables = try connection.prepare("SELECT name, rootpage > 0 FROM sqlite_master LIMIT 1000")
    var hasOnlyTables = true
    while try tables.step() {
      names.insert(tables.text(0))
      if tables.int(1) == 0 { hasOnlyTables = false }
    }
    guard names.isEmpty || hasOnlyTables && names.isSuperset(of: Self.names) else {
      throw BundleError(
        .exists, path: path, "is a bundle that was made otherwise, and is not changed",
        remedy: "name another file in the description of the upstream")
    }
    return names
  }

  static func write(_ entries: [StoredMetadata.Entry], _ connection: SQLiteConnection) throws {
    let insert = try connection.prepare("INSERT OR REPLACE INTO metadata VALUES (?1, ?2)")
    for entry in entries {
      insert.bind(1, entry.name)
      insert.bind(2, entry.value)
      try insert.run()
    }
  }
}

// MARK: - Size and eviction
extension UpstreamTileSchema {
  /// Bytes of all pages in use.
  static func byteCount(_ connection: SQLiteConnection) throws -> Int {
    func number(_ name: String) throws -> Int {
      let pragma = try connection.prepare("PRAGMA \(name)")
      return try pragma.step() ? pragma.int(0) : 0
    }
    return try (number("page_count") - number("freelist_count")) * number("page_size")
  }

  /// Removes the least recently used tiles until the file's used pages take less than a size. The file does not shrink;
  /// its free pages take the next tiles.
  ///
  /// - Returns: the number of removed tiles.
  /// - Complexity: O(tiles) for each batch: tiles are sorted by last use, instead of keeping an index that every read
  ///   would have to update.
  static func evict(_ connection: SQLiteConnection, downTo byteCount: Int) throws -> Int {
    var count = 0
    while try Self.byteCount(connection) > byteCount {
      let oldest = try connection.prepare(
        "SELECT zoom_level, tile_column, tile_row FROM upstream ORDER BY used, fetched LIMIT \(Self.batchCount)")
      var places: [(Int, Int, Int)] = []
      while try oldest.step() { places.append((oldest.int(0), oldest.int(1), oldest.int(2))) }
      guard !places.isEmpty else { break }
      try connection.transaction(.immediate) {
        for table in ["tiles", "upstream"] {
          let delete = try connection.prepare(
            "DELETE FROM \(table) WHERE zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3")
          for place in places {
            delete.bind(1, place.0)
            delete.bind(2, place.1)
            delete.bind(3, place.2)
            try delete.run()
          }
        }
      }
      count += places.count
    }
    return count
  }

  /// Small enough not to empty a small file, large enough not to sort a large one often.
  private static let batchCount = 64
}
