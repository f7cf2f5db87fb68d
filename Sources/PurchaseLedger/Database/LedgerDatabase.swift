import Foundation
import GRDB
import GRDBSQLite

/// Creates, opens and copies the ledger's SQLite file: write-ahead log, `synchronous=FULL`, one writer, several
/// readers.
enum LedgerDatabase {
  /// The size of the write-ahead log, in pages, at which SQLite checkpoints it: 128 MB.
  private static let checkpointPages = 16_384

  /// Creates a file with what `begin` writes. The file gets its name only when it is complete.
  ///
  /// - Throws: `LedgerError` if the file exists, also if another process creates it at the same time.
  static func create(
    at path: String, migrator: DatabaseMigrator, begin: (Database) throws -> Void
  ) throws -> DatabasePool {
    let file = try NewLedgerFile(for: path)
    do {
      try reporting(path) {
        let database = try DatabaseQueue(path: file.path, configuration: configuration)
        try migrator.migrate(database)
        try database.write(begin)
        // The journal mode is stored in the file. Closing the connection checkpoints the log into it.
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        try database.close()
      }
      try file.commit()
    } catch {
      file.remove()
      throw error
    }
    return try open(at: path, migrator: migrator)
  }

  private static func refuseFolder(_ path: String) throws(LedgerError) {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else { return }
    throw LedgerError.isFolder(path)
  }

  static func open(at path: String, migrator: DatabaseMigrator) throws -> DatabasePool {
    try reporting(path) {
      // Checked before the pool opens the file, which would switch any database to a write-ahead log.
      _ = try checkHeader(path)
      let pool = try DatabasePool(path: path, configuration: configuration)
      try prepareWriter(pool)
      try migrator.migrate(pool)
      return pool
    }
  }

  /// Opens a ledger read-only, without waiting for writers; nil for a file of an older version, which has to be
  /// migrated first.
  static func openToRead(at path: String) throws -> DatabasePool? {
    try reporting(path) {
      guard try checkHeader(path) == LedgerSchema.version else { return nil }
      var configuration = configuration
      configuration.readonly = true
      return try DatabasePool(path: nameToRead(path), configuration: configuration)
    }
  }

  /// The name by which SQLite opens a file to read. SQLite creates a log and its index beside the file; on read-only
  /// media it needs `immutable=1` instead.
  static func nameToRead(_ path: String) -> String {
    func size(_ suffix: String) -> Int? {
      (try? FileManager.default.attributesOfItem(atPath: path + suffix))?[.size] as? Int
    }
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    guard access(folder, W_OK) != 0, size("-wal") ?? 0 == 0, size("-shm") == nil,
      sqlite3_compileoption_used("USE_URI") != 0
    else { return path }
    return URL(fileURLWithPath: path).absoluteString + "?immutable=1"
  }

  /// A temporary database that is deleted when it is closed; what does not fit into memory is in the folder for
  /// temporary files.
  static func scratch() throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      try db.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384")
    }
    // SQLite makes a temporary database for an empty path.
    return try DatabaseQueue(path: "", configuration: configuration)
  }

  private static var configuration: Configuration {
    var configuration = Configuration()
    configuration.busyMode = .timeout(30)
    configuration.maximumReaderCount = 8
    configuration.label = "purchase-ledger"
    configuration.prepareDatabase { db in
      // The page size takes effect only while the file is empty.
      try db.execute(sql: "PRAGMA page_size = 8192; PRAGMA secure_delete = ON; PRAGMA cache_size = -16384")
    }
    return configuration
  }

  /// Runs after the pool is open, because the pool sets `synchronous=NORMAL` on its writer.
  private static func prepareWriter(_ pool: DatabasePool) throws {
    try pool.writeWithoutTransaction { db in
      try db.execute(
        sql: """
          PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = \(checkpointPages)
          """)
      try setCache(db, isBulk: false)
    }
  }

  /// Sets the writer's page cache: 128 MB, or 320 MB for large imports.
  static func setCache(_ db: Database, isBulk: Bool) throws {
    try db.execute(sql: "PRAGMA cache_size = -\((isBulk ? 320 : 128) << 10)")
  }

  /// Checkpoints the write-ahead log and truncates it. Does not wait for readers or writers, so that no writer has to
  /// wait for it.
  ///
  /// - Throws: `DatabaseError` if a reader or another process was active; the log is then checkpointed as far as
  ///   possible.
  static func emptyLog(_ db: Database) throws {
    let patience = try Int.fetchOne(db, sql: "PRAGMA busy_timeout") ?? 0
    try db.execute(sql: "PRAGMA busy_timeout = 0")
    defer { try? db.execute(sql: "PRAGMA busy_timeout = \(patience)") }
    _ = try db.checkpoint(.truncate)
  }

  /// Copies the whole database, from one read transaction, into an empty file.
  ///
  /// - Parameter check: Checks the copy before it is closed.
  static func copy(
    _ db: Database, to path: String, progress: (Int, Int) -> Void, check: (Database) throws -> Void
  ) throws {
    let copy = try DatabaseQueue(path: path, configuration: configuration)
    try copy.writeWithoutTransaction { target in
      try withoutActuallyEscaping(progress) { progress in
        try db.backup(to: target, pagesPerStep: 4096) { progress($0.completedPageCount, $0.totalPageCount) }
      }
    }
    try copy.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
    try copy.read(check)
    try copy.close()
  }

  /// Checks the application id (byte 68) and the version (byte 60) in the file's header.
  ///
  /// - Returns: The version.
  private static func checkHeader(_ path: String) throws -> Int32 {
    guard FileManager.default.fileExists(atPath: path) else {
      throw LedgerError(.noLedger, at: path, "there is no ledger; make one with `purchase-ledger init`")
    }
    try refuseFolder(path)
    guard let file = FileHandle(forReadingAtPath: path) else {
      throw LedgerError(.database, at: path, "cannot be read; check its permissions")
    }
    defer { try? file.close() }
    let header = [UInt8](try file.read(upToCount: 100) ?? Data())
    func integer(at offset: Int) -> Int32 {
      header[offset..<offset + 4].reduce(0) { $0 << 8 | Int32($1) }
    }
    guard header.count == 100, header.starts(with: Array("SQLite format 3".utf8)),
      integer(at: 68) == LedgerSchema.applicationID
    else { throw LedgerError(.notALedger, at: path, "is not a ledger; name the file that `purchase-ledger init` made") }
    guard integer(at: 60) <= LedgerSchema.version else {
      throw LedgerError(.notALedger, at: path, "was written by a newer version; open it with that one")
    }
    return integer(at: 60)
  }

  /// Converts errors of SQLite to a `LedgerError` that names the file and the remedy.
  static func reporting<Value>(_ path: String, _ work: () throws -> Value) throws -> Value {
    do { return try work() } catch let error as DatabaseError {
      let remedy =
        switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED: "another process is writing; try again when it is done"
        case .SQLITE_FULL: "the disk is full; make room and run it again"
        case .SQLITE_NOTADB: "is not a ledger; name the file that `purchase-ledger init` made"
        case .SQLITE_CORRUPT: "the file is damaged; restore it from a copy"
        case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM: "check the permissions of the file and its folder"
        default: "the database failed"
        }
      let code: LedgerError.Code =
        switch error.resultCode {
        case .SQLITE_NOTADB: .notALedger
        case .SQLITE_CORRUPT: .damaged
        default: .database
        }
      throw LedgerError(code, at: path, "\(remedy) (\(error.message ?? "code \(error.resultCode.rawValue)"))")
    }
  }
}
