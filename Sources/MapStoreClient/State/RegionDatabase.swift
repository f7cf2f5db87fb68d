import Support
import Synchronization
import TileIndex

/// The state of the device's regions: a small SQLite database, for all threads. A call returns when its change is on
/// the disk.
///
/// All calls throw ``MapStoreError`` with `.storage` or `.noSpace`.
final class RegionDatabase: Sendable {
  private let path: String
  private let connection: Mutex<SQLiteConnection>
  /// Called after each change of the installed files, the library and the downloads; not for their pieces.
  let onChange: @Sendable () -> Void

  init(path: String, onChange: @escaping @Sendable () -> Void = {}) throws {
    (self.path, self.onChange) = (path, onChange)
    do {
      do {
        connection = Mutex(try Self.open(path, isAlone: false))
      } catch let error as SQLiteError where error.isDiskFull {
        // There is no room for SQLite's shared-memory file. In exclusive mode its index of the log is in memory; the
        // folder is locked by this process anyway.
        connection = Mutex(try Self.open(path, isAlone: true))
      }
    } catch let error as SQLiteError {
      throw Self.failure(error, path)
    }
  }

  /// Opens the state for reading, beside the manager that writes it.
  ///
  /// - Throws: ``MapStoreError`` `.unknown` if there is none.
  init(reading path: String) throws {
    (self.path, onChange) = (path, {})
    do {
      guard try FileSystem.status(path) != nil else { throw Self.notThere(path) }
      let connection = try SQLiteConnection(reading: path)
      switch try RegionDatabaseSchema.version(of: connection) {
      case RegionDatabaseSchema.version: break
      case 0: throw Self.notThere(path)
      default: throw RegionDatabaseSchema.otherVersion(path)
      }
      self.connection = Mutex(connection)
    } catch let error as SQLiteError {
      throw Self.failure(error, path)
    } catch let error as FileSystem.SystemError {
      throw MapStoreError(error, path)
    }
  }

  private static func notThere(_ path: String) -> MapStoreError {
    MapStoreError(
      .unknown, path, "this version of the app has not opened the folder of regions yet",
      remedy: "open it with OfflineRegionManager first")
  }

  private static func open(_ path: String, isAlone: Bool) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(creating: path)
    if isAlone { try connection.execute("PRAGMA locking_mode = EXCLUSIVE") }
    try RegionDatabaseSchema.prepare(connection, path: path)
    return connection
  }

  /// Makes a change unless the disk is full.
  ///
  /// - Returns: whether it was made.
  @discardableResult
  static func ifRoom(_ change: () throws -> Void) throws -> Bool {
    do {
      try change()
      return true
    } catch let error as MapStoreError where error.code == .noSpace {
      return false
    }
  }

  /// Runs reads, or one change.
  func run<Value: Sendable>(_ body: (SQLiteConnection) throws -> Value) throws -> Value {
    try connection.withLock { connection in
      do {
        return try body(connection)
      } catch let error as SQLiteError {
        throw Self.failure(error, path)
      }
    }
  }

  /// Runs several changes in a transaction.
  func change<Value: Sendable>(_ body: (SQLiteConnection) throws -> Value) throws -> Value {
    defer { onChange() }
    return try run { connection in try connection.transaction(.immediate) { try body(connection) } }
  }

  private static func failure(_ error: SQLiteError, _ path: String) -> MapStoreError {
    if error.isDiskFull { return MapStoreError(.noSpace, path, "the disk is full", remedy: "free space") }
    if error.isBusy {
      return MapStoreError(.busy, path, "another process uses it", remedy: "try again when that is done")
    }
    return MapStoreError(
      .storage, path, "the folder's state cannot be read or written: \(error)",
      remedy: "check the disk; without this file the folder counts as empty, and owned regions can be downloaded again")
  }
}

extension RegionDatabase {
  func setting(_ name: String) throws -> String? {
    try run { connection in
      let statement = try connection.prepare("SELECT value FROM setting WHERE name = ?")
      statement.bind(1, name)
      return try statement.step() ? statement.optionalText(0) : nil
    }
  }

  /// - Parameter value: nil removes it.
  func set(_ name: String, _ value: String?) throws {
    try run { connection in
      let statement = try connection.prepare(
        value == nil ? "DELETE FROM setting WHERE name = ?" : "INSERT OR REPLACE INTO setting VALUES (?, ?)")
      statement.bind(1, name)
      if let value { statement.bind(2, value) }
      try statement.run()
    }
  }
}

extension SQLiteStatement {
  func bind(_ index: Int32, _ part: RegionPart) {
    bind(index, part.region)
    bind(index + 1, part.pack ?? "")
  }

  /// The columns `region` and `pack`; nil for names that are not safe as file names.
  func part(_ column: Int32) -> RegionPart? {
    let pack = text(column + 1)
    let part = RegionPart(region: text(column), pack: pack.isEmpty ? nil : pack)
    return part.isSafe ? part : nil
  }
}

/// The tables of the database.
enum RegionDatabaseSchema {
  static let version = 2

  static let tables = """
    CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    -- The installed files. removing: the file is being deleted, or is deleted.
    CREATE TABLE installed (
      region TEXT NOT NULL, pack TEXT NOT NULL, edition TEXT NOT NULL, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL,
      tiles_hash TEXT, installed_at INTEGER NOT NULL, used_at INTEGER NOT NULL, removing INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (region, pack)) WITHOUT ROWID;
    -- Ids are never used twice: they name files.
    CREATE TABLE download (
      id INTEGER PRIMARY KEY AUTOINCREMENT, region TEXT NOT NULL, pack TEXT NOT NULL, kind TEXT NOT NULL,
      edition TEXT NOT NULL, from_edition TEXT, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL,
      result_bytes INTEGER NOT NULL, result_sha256 TEXT NOT NULL, tiles_hash TEXT, state TEXT NOT NULL,
      entity_tag TEXT, UNIQUE (region, pack));
    -- first and end in bytes; the hash is of what was on the disk when the row was written.
    CREATE TABLE piece (
      download INTEGER NOT NULL REFERENCES download (id) ON DELETE CASCADE, first INTEGER NOT NULL,
      end INTEGER NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (download, first)) WITHOUT ROWID;
    -- The library as of the server's last answer, one message a row.
    CREATE TABLE library (position INTEGER PRIMARY KEY, region TEXT NOT NULL UNIQUE, message TEXT NOT NULL);
    -- Grants of regions that left the catalogue name their products only.
    CREATE TABLE product (region TEXT PRIMARY KEY, product TEXT NOT NULL) WITHOUT ROWID;
    """

  static func version(of connection: SQLiteConnection) throws -> Int {
    let statement = try connection.prepare("PRAGMA user_version")
    defer { statement.reset() }
    return try statement.step() ? statement.int(0) : 0
  }

  static func otherVersion(_ path: String) -> MapStoreError {
    MapStoreError(
      .storage, path, "was written by another version of this software",
      remedy: "update the app, or use another folder")
  }

  /// Every commit is on the disk when it returns: the state must never be older than the files that it describes.
  static func prepare(_ connection: SQLiteConnection, path: String) throws {
    for pragma in ["journal_mode = WAL", "synchronous = FULL", "fullfsync = ON", "foreign_keys = ON"] {
      try connection.execute("PRAGMA \(pragma)")
    }
    let found = try self.version(of: connection)
    if found == version { return }
    guard found == 0 else { throw otherVersion(path) }
    try connection.transaction(.immediate) {
      try connection.execute("\(tables) PRAGMA user_version = \(version)")
    }
  }
}
