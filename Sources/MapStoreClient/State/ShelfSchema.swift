import TileIndex

/// The tables of the state file.
enum ShelfSchema {
  static let version = 2

  static let tables = """
    CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    -- What lies in the folder. removing: its file is about to go, or gone.
    CREATE TABLE installed (
      region TEXT NOT NULL, parcel TEXT NOT NULL, edition TEXT NOT NULL, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL,
      tiles_hash TEXT, installed_at INTEGER NOT NULL, used_at INTEGER NOT NULL, removing INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (region, parcel)) WITHOUT ROWID;
    -- Ids are never used twice: they name files.
    CREATE TABLE download (
      id INTEGER PRIMARY KEY AUTOINCREMENT, region TEXT NOT NULL, parcel TEXT NOT NULL, kind TEXT NOT NULL,
      edition TEXT NOT NULL, from_edition TEXT, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL,
      result_bytes INTEGER NOT NULL, result_sha256 TEXT NOT NULL, tiles_hash TEXT, state TEXT NOT NULL,
      entity_tag TEXT, UNIQUE (region, parcel));
    -- first and end in bytes; the hash is of what was on the disk when the row was written.
    CREATE TABLE piece (
      download INTEGER NOT NULL REFERENCES download (id) ON DELETE CASCADE, first INTEGER NOT NULL,
      end INTEGER NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (download, first)) WITHOUT ROWID;
    -- The library as the server told it last, a message a row.
    CREATE TABLE library (position INTEGER PRIMARY KEY, region TEXT NOT NULL UNIQUE, message TEXT NOT NULL);
    """ + products

  /// New in version 2: grants of what the shop has on its shelf no more name products alone.
  private static let products = """
    CREATE TABLE product (region TEXT PRIMARY KEY, product TEXT NOT NULL) WITHOUT ROWID;
    """

  /// Every commit is on the disk when it returns: what the state says of files must not be older than the files.
  static func prepare(_ connection: SQLiteConnection, path: String) throws {
    for pragma in ["journal_mode = WAL", "synchronous = FULL", "fullfsync = ON", "foreign_keys = ON"] {
      try connection.execute("PRAGMA \(pragma)")
    }
    let statement = try connection.prepare("PRAGMA user_version")
    let found = try statement.step() ? statement.int(0) : 0
    statement.reset()
    if found == version { return }
    if found == 1 {
      try connection.execute(
        """
        BEGIN IMMEDIATE; \(products)
        INSERT OR IGNORE INTO product SELECT region, json_extract(message, '$.productId') FROM library
        WHERE json_extract(message, '$.productId') IS NOT NULL;
        PRAGMA user_version = \(version); COMMIT
        """)
      return
    }
    guard found == 0 else {
      throw MapStoreError(
        .shelf, path, "was written by a newer version of this software", remedy: "update the app, or use another folder"
      )
    }
    try connection.execute("BEGIN IMMEDIATE; \(tables) PRAGMA user_version = \(version); COMMIT")
  }
}
