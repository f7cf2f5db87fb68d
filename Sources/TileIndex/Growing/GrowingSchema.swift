import CSQLite

/// The tables of a bundle that grows.
enum GrowingSchema {
  /// `used` is to the day. Rows without a tile are tiles that do not exist.
  private static let statements = [
    "PRAGMA application_id = \(MBTilesSchema.applicationID)",
    "CREATE TABLE metadata (name text, value text)",
    "CREATE UNIQUE INDEX metadata_name ON metadata (name)",
    "CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB)",
    "CREATE UNIQUE INDEX tile_place ON tiles (zoom_level, tile_column, tile_row)",
    """
    CREATE TABLE upstream (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, fetched INTEGER, expires INTEGER, \
    used INTEGER, etag TEXT, modified TEXT, PRIMARY KEY (zoom_level, tile_column, tile_row)) WITHOUT ROWID
    """,
  ]

  /// Which archive the tiles are of; no row before one was read. Bundles of older versions have no such table.
  private static let archive = "CREATE TABLE IF NOT EXISTS upstream_archive (identity TEXT)"

  /// Makes the tables of an empty file; refuses a file that has others.
  static func prepare(_ connection: SQLiteConnection, _ metadata: [StoredMetadata.Entry], path: String) throws {
    // Before anything is changed: somebody's bundle is not to become another file.
    try check(connection, path: path)
    // The log survives the end of the process; a power failure may take the last tiles, never the file.
    try connection.execute("PRAGMA journal_mode = WAL")
    try connection.execute("PRAGMA synchronous = NORMAL")
    try connection.execute("BEGIN IMMEDIATE")
    do {
      // Another process may have made the tables meanwhile.
      if try check(connection, path: path).isEmpty {
        for statement in statements { try connection.execute(statement) }
      }
      try connection.execute(archive)
      try write(metadata, connection)
      try connection.execute("COMMIT")
    } catch {
      try? connection.execute("ROLLBACK")
      throw error
    }
  }

  /// The names of what is in the file; nothing, or what a bundle that grows has.
  @discardableResult
  private static func check(_ connection: SQLiteConnection, path: String) throws -> Set<String> {
    var names: Set<String> = []
    let tables = try connection.prepare("SELECT name FROM sqlite_master")
    while try tables.step() { names.insert(tables.text(0) ?? "") }
    guard names.isEmpty || names.isSuperset(of: ["metadata", "tiles", "upstream", "tile_place"]) else {
      throw BundleError(
        .exists, path: path, "is a bundle that was made otherwise, and is not changed",
        remedy: "name another file in the description of the upstream")
    }
    return names
  }

  static func write(_ entries: [StoredMetadata.Entry], _ connection: SQLiteConnection) throws {
    let insert = try connection.prepare("INSERT OR REPLACE INTO metadata VALUES (?1, ?2)")
    for entry in entries {
      try insert.bind(entry.name, at: 1)
      try insert.bind(entry.value, at: 2)
      try insert.run()
    }
  }
}
