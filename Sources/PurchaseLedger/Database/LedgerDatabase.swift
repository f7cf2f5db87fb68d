import CSQLite
import LibC
import Support

/// The ledger's SQLite file: write-ahead log, `synchronous=FULL`, one writer, any number of readers.
final class LedgerDatabase: Sendable {
  /// The size of the write-ahead log, in pages, at which SQLite checkpoints it: 128 MB.
  private static let checkpointPages = 16_384
  /// How long a statement waits for another process's lock, in milliseconds.
  static let patience: Int32 = 30_000

  let files: OpenedFiles
  private let isReadOnly: Bool
  private let writer: SerializedConnection
  /// For single statements.
  private let readers: ReadConnectionPool
  /// For read transactions, which may scan tables.
  private let snapshots: ReadConnectionPool

  private init(_ path: String, writer: sending SQLiteConnection, isReadOnly: Bool = false) {
    self.isReadOnly = isReadOnly
    self.writer = SerializedConnection(writer)
    // The writer has opened the log and its index.
    files = OpenedFiles(path, isWatched: !isReadOnly)
    readers = ReadConnectionPool(path: path, files: files, isMapped: true)
    snapshots = ReadConnectionPool(path: path, files: files, isMapped: false)
  }

  // The writer's connection is closed last, because only it checkpoints the log into the file.
  deinit { closeReaders() }

  private func closeReaders() {
    readers.close()
    snapshots.close()
  }

  /// Closes the file and checkpoints the log into it, unless another process uses it. Every later use fails.
  func close() {
    closeReaders()
    if !isReadOnly { try? writer.withoutTransaction { try Self.emptyLog($0) } }
    writer.close()
  }

  // MARK: Transactions

  /// Runs `work` in a transaction that has the write lock, which is rolled back if `work` throws. Blocks the calling
  /// thread meanwhile.
  func write<Value>(_ work: (SQLiteConnection) throws -> Value) throws -> Value { try writer.write(work) }

  /// Runs `work` with the writer's connection, outside a transaction.
  func writeWithoutTransaction<Value>(_ work: (SQLiteConnection) throws -> Value) throws -> Value {
    try writer.withoutTransaction(work)
  }

  /// Runs `work` in a read transaction.
  func read<Value>(_ work: (SQLiteConnection) throws -> Value) throws -> Value { try snapshots.readTransaction(work) }

  /// Runs single statements, each of which sees the last commit at its start. Cheaper than `read`.
  func readStatement<Value>(_ work: (SQLiteConnection) throws -> Value) throws -> Value { try readers.read(work) }

  // MARK: Creating and opening

  /// Creates a file with what `begin` writes. The file gets its name only when it is complete.
  ///
  /// - Throws: `LedgerError` if the file exists, also if another process creates it at the same time.
  static func create(at path: String, begin: (SQLiteConnection) throws -> Void) throws -> LedgerDatabase {
    let file = try NewLedgerFile(for: path)
    do {
      try reporting(path) {
        let connection = try connect(file.path)
        try connection.transaction(.immediate) { try LedgerSchema.create(connection) }
        try connection.transaction(.immediate) { try begin(connection) }
        // The journal mode is stored in the file. Closing the connection checkpoints the log into it.
        try connection.execute("PRAGMA journal_mode = WAL")
        try connection.close()
      }
      try file.commit()
    } catch {
      file.remove()
      throw error
    }
    return try open(at: path)
  }

  private static func refuseFolder(_ path: String) throws(LedgerError) {
    if FileSystem.kind(path) == .folder { throw LedgerError.isFolder(path) }
  }

  /// Opens a ledger.
  ///
  /// - Parameter fold: Fills the new tables of a file of an earlier version, in the transaction that brings it to the
  ///   present one.
  static func open(
    at path: String, folding fold: @Sendable (SQLiteConnection) throws -> Void = { _ in }
  ) throws -> LedgerDatabase {
    try reporting(path) {
      // Checked before the file is opened, which would switch any database to a write-ahead log.
      try checkHeader(path)
      let writer = try connect(path)
      try checkVersion(of: writer, at: path)
      let mode = try writer.prepare("PRAGMA journal_mode = WAL").first { $0.text(0) }
      guard mode == "wal" else {
        throw SQLiteError(code: SQLITE_ERROR, message: "could not switch to a write-ahead log: \(path)")
      }
      try writer.execute("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = \(checkpointPages)")
      if try LedgerSchema.version(of: writer) != LedgerSchema.version {
        try writer.transaction(.immediate) {
          try LedgerSchema.migrate(writer)
          try fold(writer)
        }
      }
      try setCache(writer, isBulk: false)
      return LedgerDatabase(path, writer: writer)
    }
  }

  /// Opens a ledger read-only, without waiting for writers.
  static func openToRead(at path: String) throws -> LedgerDatabase {
    try reporting(path) {
      try checkHeader(path)
      // This connection never writes: what tries to is refused as on read-only media.
      let writer = try connect(path, isReadOnly: true)
      try checkVersion(of: writer, at: path)
      try LedgerSchema.adapt(writer)
      return LedgerDatabase(path, writer: writer, isReadOnly: true)
    }
  }

  /// Opens a ledger for a report: read-only, of any version that a release had, waiting two seconds at most.
  static func openToReport(at path: String) throws -> SQLiteConnection {
    try checkHeader(path)
    let db = try SQLiteConnection(uri: nameToRead(path), flags: SQLITE_OPEN_READONLY)
    db.setBusyTimeout(milliseconds: 2000)
    try checkVersion(of: db, at: path)
    try LedgerSchema.adapt(db)
    return db
  }

  /// The name by which SQLite opens a file to read. SQLite creates a log and its index beside the file; on read-only
  /// media it needs `immutable=1` instead.
  static func nameToRead(_ path: String) -> String {
    func size(_ suffix: String) -> Int? {
      (try? FileSystem.status(path + suffix))?.bytes
    }
    let folder = FileSystem.split(path).folder
    let isImmutable = access(folder, W_OK) != 0 && size("-wal") ?? 0 == 0 && size("-shm") == nil
    return SQLiteConnection.uri(path: path, parameters: isImmutable ? ["immutable=1"] : [])
  }

  /// A temporary database that is deleted when it is closed; what does not fit into memory is in the folder for
  /// temporary files.
  static func scratch() throws -> SerializedConnection {
    // SQLite makes a temporary database for an empty path.
    let connection = try SQLiteConnection(uri: "", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
    try connection.execute(
      """
      PRAGMA foreign_keys = ON; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384
      """)
    return SerializedConnection(connection)
  }

  /// Opens an existing file, which may be empty.
  private static func connect(_ path: String, isReadOnly: Bool = false) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(
      uri: isReadOnly ? nameToRead(path) : SQLiteConnection.uri(path: path, parameters: []),
      flags: isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE)
    connection.setBusyTimeout(milliseconds: patience)
    // The page size takes effect only while the file is empty.
    try connection.execute(
      """
      PRAGMA foreign_keys = ON; PRAGMA page_size = 8192; PRAGMA secure_delete = ON; PRAGMA cache_size = -16384
      """)
    // Fails if the file is not a database, and opens the log.
    try connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1")
    return connection
  }

  // MARK: The writer's cache and log

  /// Sets the writer's page cache: 128 MB, or 320 MB for large imports.
  static func setCache(_ db: SQLiteConnection, isBulk: Bool) throws {
    try db.execute("PRAGMA cache_size = -\((isBulk ? 320 : 128) << 10)")
  }

  /// Checkpoints the write-ahead log and truncates it, without blocking the calling thread.
  func emptyLog() async throws { try await writer.withoutTransaction { try Self.emptyLog($0) } }

  /// Checkpoints the write-ahead log and truncates it. Does not wait for readers or writers, so that no writer has to
  /// wait for it.
  ///
  /// - Throws: `SQLiteError` if a reader or another process was active; the log is then checkpointed as far as
  ///   possible.
  private static func emptyLog(_ db: SQLiteConnection) throws {
    db.setBusyTimeout(milliseconds: 0)
    defer { db.setBusyTimeout(milliseconds: patience) }
    try db.checkpoint(.truncate)
  }

  // MARK: Backup

  /// Copies the whole database, from one read transaction, into an empty file.
  ///
  /// - Parameter check: Checks the copy before it is closed.
  static func copy(
    _ db: SQLiteConnection, to path: String, progress: (Int, Int) -> Void, check: (SQLiteConnection) throws -> Void
  ) throws {
    let copy = try connect(path)
    try db.backup(to: copy, pagesPerStep: 4096, progress: progress)
    try copy.execute("PRAGMA journal_mode = WAL")
    try copy.transaction(.deferred) { try check(copy) }
    try copy.close()
  }

  // MARK: Errors

  /// Refuses versions that cannot be read.
  private static func checkVersion(of db: SQLiteConnection, at path: String) throws {
    let version = try LedgerSchema.version(of: db)
    guard version != LedgerSchema.version, !LedgerSchema.olderVersions.contains(version) else { return }
    throw LedgerError(
      .notALedger, at: path,
      version > LedgerSchema.version
        ? "was written by a newer version (\(version))" : "says that it is of version \(version), which no release had",
      remedy: version > LedgerSchema.version
        ? "open it with that one" : "restore a backup from before it was changed")
  }

  /// Checks that a file exists and is a ledger, by the application id (byte 68) in its header.
  private static func checkHeader(_ path: String) throws {
    guard FileSystem.kind(path) != nil else {
      throw LedgerError(.noLedger, at: path, "there is no ledger", remedy: "create one with `purchase-ledger init`")
    }
    try refuseFolder(path)
    let file: ReadOnlyFile
    do { file = try ReadOnlyFile(path) } catch {
      throw LedgerError(.database, at: path, "cannot be read", remedy: "check its permissions")
    }
    guard let header = try? file.bytes(at: 0, count: 100), header.starts(with: Array("SQLite format 3".utf8)),
      header[68..<72].reduce(0, { $0 << 8 | Int32($1) }) == LedgerSchema.applicationID
    else {
      throw LedgerError(
        .notALedger, at: path, "is not a ledger", remedy: "name the file that `purchase-ledger init` made")
    }
    // Byte 18: 2 for a file with a write-ahead log, whose changes are never in a rollback journal. SQLite would say
    // that the file cannot be opened, or roll another file's pages back into it.
    guard header[18] != 2 || FileSystem.size(path + "-journal") <= 0 else {
      throw LedgerError(
        .damaged, at: path, "\(FileSystem.split(path).name)-journal lies beside it, which is another file's",
        remedy: "move that away, then verify the ledger")
    }
  }

  /// Converts errors of SQLite to a `LedgerError` that names the file and the remedy.
  static func reporting<Value>(_ path: String, _ work: () throws -> Value) throws -> Value {
    do { return try work() } catch let error as SQLiteError {
      let (code, message, remedy): (LedgerError.Code, String, String?) =
        switch error.primary {
        case SQLITE_BUSY, SQLITE_LOCKED: (.database, "another process is writing", "try again when it is done")
        case SQLITE_FULL: (.database, "the disk is full", "free space and run it again")
        case SQLITE_NOTADB: (.notALedger, "is not a ledger", "name the file that `purchase-ledger init` made")
        case SQLITE_CORRUPT: (.damaged, "the file is damaged", "restore a backup")
        case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM:
          (.database, "cannot be opened or written", "check the permissions of the file and its folder")
        default: (.database, "the database failed", nil)
        }
      throw LedgerError(code, at: path, "\(message) (\(error.message))", remedy: remedy)
    }
  }
}
