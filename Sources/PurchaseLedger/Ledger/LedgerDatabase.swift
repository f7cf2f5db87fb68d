import Foundation
import GRDB
import GRDBSQLite

/// Opens the file of a ledger: write-ahead log, `synchronous=FULL`, one writer, several readers.
enum LedgerDatabase {
  /// Pages of the log after which it is written back, 128 MB.
  private static let checkpointPages = 16_384

  /// Makes a file with what `begin` writes; it has its name when all of that is in it, so no one ever finds less.
  ///
  /// - Throws: `LedgerError` when there is a file already, also one that somebody else makes at this moment.
  static func create(at path: String, begin: (Database) throws -> Void) throws -> DatabasePool {
    let file = try NewLedgerFile(for: path)
    do {
      try reporting(path) {
        let database = try DatabaseQueue(path: file.path, configuration: configuration)
        try migrator(path).migrate(database)
        try database.write(begin)
        // The mode stays with the file. Closing it puts all there is into the file itself.
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        try database.close()
      }
      try file.commit()
    } catch {
      file.remove()
      throw error
    }
    return try open(at: path)
  }

  private static func refuseFolder(_ path: String) throws(LedgerError) {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else { return }
    throw Self.isFolder(path)
  }

  static func isFolder(_ path: String) -> LedgerError {
    LedgerError(.notALedger, at: path, "is a folder; name the ledger's file in it")
  }

  static func open(at path: String) throws -> DatabasePool {
    try reporting(path) {
      // Before the pool, which would turn any database into one with a write-ahead log.
      _ = try checkHeader(path)
      let pool = try DatabasePool(path: path, configuration: configuration)
      try prepareWriter(pool)
      try migrator(path).migrate(pool)
      return pool
    }
  }

  /// Opens a ledger without ever writing to it or waiting for whoever does; nil for a file of an older version, which has to be brought into this form first.
  static func openToRead(at path: String) throws -> DatabasePool? {
    try reporting(path) {
      guard try checkHeader(path) == LedgerSchema.version else { return nil }
      var configuration = configuration
      configuration.readonly = true
      return try DatabasePool(path: nameToRead(path), configuration: configuration)
    }
  }

  /// The name by which SQLite opens a file to read. Beside it it keeps a log and an index of that; where they cannot be, on media that nobody writes to, it
  /// has to be told that the file does not change.
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

  /// A database that goes when it is closed, in the folder for temporary files as far as it does not fit into memory.
  static func scratch() throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      try db.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384")
    }
    // An empty path says so.
    return try DatabaseQueue(path: "", configuration: configuration)
  }

  private static var configuration: Configuration {
    var configuration = Configuration()
    configuration.busyMode = .timeout(30)
    configuration.maximumReaderCount = 8
    configuration.label = "purchase-ledger"
    configuration.prepareDatabase { db in
      // The size of a page counts only while the file is empty.
      try db.execute(sql: "PRAGMA page_size = 8192; PRAGMA secure_delete = ON; PRAGMA cache_size = -16384")
    }
    return configuration
  }

  /// The pool sets `synchronous=NORMAL` on its writer after preparing it, so this has to come later.
  private static func prepareWriter(_ pool: DatabasePool) throws {
    try pool.writeWithoutTransaction { db in
      try db.execute(
        sql: """
          PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = \(checkpointPages)
          """)
      try setCache(db, isBulk: false)
    }
  }

  /// The writer's cache: 128 MB, of large imports 320 MB.
  static func setCache(_ db: Database, isBulk: Bool) throws {
    try db.execute(sql: "PRAGMA cache_size = -\((isBulk ? 320 : 128) << 10)")
  }

  private static func migrator(_ path: String) -> DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("ledger 1") { db in
      try LedgerSchema.createPrimary(db)
      try LedgerSchema.createProjections(db)
      try db.execute(
        sql: """
          PRAGMA application_id = \(LedgerSchema.applicationID); PRAGMA user_version = \(LedgerSchema.version)
          """)
    }
    migrator.registerMigration("ledger 2") { db in
      // A new ledger was made in this form.
      if try db.columns(in: "store_transaction").contains(where: { $0.name == "voided" }) { return }
      try LedgerUpgrade.fromFirstVersion(db, path: path)
    }
    // Programs without it can use the file: what they write ranks as our own questions do.
    migrator.registerMigration("ranks of look-ups") { db in
      if try db.columns(in: "lookup").contains(where: { $0.name == "rank" }) { return }
      try LedgerUpgrade.rankLookUps(db)
    }
    return migrator
  }

  /// Application id and version stand in the header of the file, at bytes 68 and 60.
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

  /// Turns what the database says into an error that names the file and the remedy.
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
