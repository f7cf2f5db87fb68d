import CSQLite
import LibC
import Support

/// Opens an SQLite file for reading, without ever writing to it or beside it.
///
/// Other programs may write the file at any time, by SQLite or by plain copies over it. Which way protects the reader
/// depends on the files beside it and on what was seen of it (``ChangingFiles``):
/// - No log and no journal, and it is still: `immutable=1`, and the file's signature is compared after each read
///   (``UnchangedFile``). There are no locks, which doubles the reads a second and allows read-only media.
/// - `-wal` and `-shm`: `readonly_shm=1`. A program may be writing, and its locks are respected; if it is dead, SQLite
///   reads the log into its own memory.
/// - `-wal` alone: VFS `unix-none`, exclusive. No program has the file open. The index of the log, which would be a new
///   `-shm` file, stays in memory.
/// - `-journal`, or a program holds SQLite's locks: `mode=ro`. SQLite decides whether the journal matters; an
///   interrupted transaction cannot be rolled back without writing.
/// - It changes, and nobody holds a lock: `.busy` until it is still.
enum BundleAccess {
  /// - Parameter path: the file as the caller named it.
  /// - Throws: ``BundleError`` with `.notFound`, or `.malformed` for what cannot be a bundle.
  static func open(_ path: String) throws -> BundleDatabase {
    let real: String
    do {
      guard !path.utf8.contains(0), let status = try FileSystem.status(path) else {
        throw BundleError(.notFound, path: path, "there is no such file", remedy: "check the name")
      }
      guard status.kind == .file else {
        throw BundleError(
          .malformed, path: path,
          status.kind == .folder ? "is a folder; only MBTiles bundles are read here" : "is not a plain file",
          remedy: "name an MBTiles bundle")
      }
      guard status.bytes > 0 else {
        throw BundleError(.malformed, path: path, "is empty", remedy: "make or copy the bundle again")
      }
      // SQLite looks for side files beside the real file, not beside a symbolic link.
      real = try FileSystem.realPath(path)
    } catch let error as FileSystem.SystemError {
      throw BundleError.unopened(error, path: path)
    }
    for attempt in 1... {
      do {
        return try open(realPath: real, path: path)
      } catch let error as SQLiteError {
        // The log or the journal may have come or gone while SQLite opened the file.
        guard attempt < attemptsMax, [SQLITE_CANTOPEN, SQLITE_BUSY, SQLITE_READONLY].contains(error.primary) else {
          throw bundleError(error, path: path)
        }
      } catch let error as BundleError where error.code == .changed && attempt < attemptsMax {
      }
    }
    preconditionFailure("unreachable")
  }

  /// What a query may cost: many times a scan of the whole file with sorting, which takes two steps a byte at most
  /// where rows are smallest. For a small file what a processor does in about a second.
  static func limits(fileBytes: Int) -> SQLiteLimits {
    SQLiteLimits(steps: 50_000_000 + 16 * fileBytes, valueBytes: tileBytesMax + 1024)
  }

  /// The size by which budgets go: that of the file, but not of its holes, which cost nobody a byte. A file system that
  /// compresses stores less too, and some say nothing of it: up to 16 MB the file's own size counts.
  static func budgetBytes(_ path: String) -> Int {
    min(FileSystem.size(path), max(FileSystem.storedBytes(path), 16 << 20))
  }

  /// Larger tiles are refused, in every container.
  static let tileBytesMax = 64 << 20

  private static let attemptsMax = 3

  /// The bytes that SQLite locks while it writes pages ("File Locking And Concurrency", section 3).
  private static let sharedLockBytes: Range<Int64> = 0x4000_0002..<0x4000_0200

  private static func open(realPath path: String, path named: String) throws -> BundleDatabase {
    func size(_ suffix: String) -> Int { FileSystem.size(path + suffix) }
    func connect(_ parameters: String...) throws -> SQLiteConnection {
      try SQLiteConnection(
        uri: SQLiteConnection.uri(path: path, parameters: ["mode=ro"] + parameters), flags: SQLITE_OPEN_READONLY)
    }
    func hold() throws -> LockedFiles.Holder {
      guard let holder = LockedFiles.Holder(path) else { throw BundleError.changed(named) }
      return holder
    }
    if size("-wal") > 0 {
      let holder = try hold()
      let isAlone = size("-shm") == 0
      let log = try WatchedLog(realPath: path, path: named, isAlone: isAlone)
      let connection = try connect(isAlone ? "vfs=unix-none" : "readonly_shm=1")
      connection.setBusyTimeout(milliseconds: 2000)
      if isAlone {
        try connection.setOption(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
      }
      try prepare(connection, path)
      // The first read opens the log, which must be the one that is watched.
      _ = try connection.prepare("PRAGMA schema_version").first { $0.int(0) }
      try log.check()
      guard holder.isOf(path) else { throw BundleError.changed(named) }
      return BundleDatabase(connection, .log(log), holder)
    }
    if size("-journal") == 0 {
      precondition(ResidentFileSystem.isAvailable)
      let connection = try connect("immutable=1", "vfs=\(ResidentFileSystem.name)")
      guard let descriptor = ResidentFileSystem.File(connection)?.descriptor else { throw BundleError.changed(named) }
      let file = try UnchangedFile(descriptor, path: path)
      // After the signature: what begins to be written now changes it.
      let isLocked = FileSystem.isWriteLocked(descriptor, sharedLockBytes)
      if isLocked { ChangingFiles.noteWriter(file.signature, path) }
      guard size("-wal") == 0 else { throw BundleError.changed(named) }
      // What is no database gets SQLite's own error.
      let header = DatabaseHeader(connection)
      if !isLocked, size("-journal") == 0, isEdition(file.signature, path, header) {
        try header?.check(fileBytes: file.signature.bytes, path: named)
        try prepare(connection, path)
        return BundleDatabase(connection, .unchanged(file))
      }
      // Without its log SQLite would make one.
      if header?.usesLog == true { throw BundleError.beingWritten(named) }
    }
    let holder = try hold()
    let connection = try connect()
    connection.setBusyTimeout(milliseconds: 200)
    try prepare(connection, path)
    let locks = try WatchedLocks(connection, realPath: path, path: named)
    guard holder.isOf(path) else { throw BundleError.changed(named) }
    return BundleDatabase(connection, .locks(locks), holder)
  }

  private static func prepare(_ connection: SQLiteConnection, _ path: String) throws {
    connection.setLimits(limits(fileBytes: budgetBytes(path) + budgetBytes(path + "-wal")))
    // Mapped pages measured 2.5 times slower when cold, and a truncated file would raise SIGBUS.
    try connection.execute("PRAGMA mmap_size = 0")
    // The system caches the pages once for all readers. A server has a reader for each thread, and SQLite's default
    // of 2 MB for each would dominate its memory.
    try connection.execute("PRAGMA cache_size = -512")
    // The schema is untrusted input.
    try connection.execute("PRAGMA trusted_schema = OFF")
    try connection.execute("PRAGMA query_only = ON")
  }

  /// True for a database that nobody saw change, or whose log was merged into it a moment ago.
  private static func isEdition(_ signature: FileSystem.Status, _ path: String, _ header: DatabaseHeader?) -> Bool {
    ChangingFiles.admits(signature, path) || ChangingFiles.hasWriter(signature, path) && header?.usesLog == true
  }

  /// `SQLITE_IOERR_GETTEMPPATH`
  private static let noTemporaryFolder = SQLITE_IOERR | (25 << 8)

  /// The folder of SQLite's temporary files: the first that can be written, in the order of SQLite's `os_unix.c`.
  private static var temporaryFolder: String? {
    let named = ["SQLITE_TMPDIR", "TMPDIR"].compactMap { FileSystem.environment($0) }
    return (named + ["/var/tmp", "/usr/tmp", "/tmp", "."]).first { access($0, W_OK | X_OK) == 0 }
  }

  /// The error for a failed read of a bundle: `BundleError`, or `CancellationError`.
  static func bundleError(_ error: SQLiteError, path: String) -> any Error {
    if error.isInterrupted { return CancellationError() }
    let systemError = FileSystem.SystemError(number: error.systemError)
    if systemError.isOutOfDescriptors { return BundleError.unopened(systemError, path: path) }
    if error.isOverBudget {
      return BundleError(
        .tooCostly, path: path, "\(error), far more than a file of its size needs; a view in it may have no end",
        remedy: "make it again with its tiles in a table")
    }
    if error.isOverTemporaryLimit {
      return BundleError(
        .tooCostly, path: path, "\(error), far more than a file of its size needs; a view in it may give too many rows",
        remedy: "make it again with its tiles in a table")
    }
    return switch error.primary {
    case SQLITE_TOOBIG:
      BundleError(
        .malformed, path: path, "has a value of more bytes than are read (a tile may have \(tileBytesMax >> 20) MB)",
        remedy: "make it again")
    case SQLITE_AUTH:
      BundleError(
        .tooCostly, path: path, "a view in it uses a function whose time has no bound: \(error)",
        remedy: "make it again with its tiles in a table")
    case SQLITE_NOTADB where (try? BundleMagic.head(path).starts(with: BundleMagic.pmtiles)) == true:
      BundleError(
        .malformed, path: path, "is a PMTiles archive; only MBTiles bundles are read here",
        remedy: "name an MBTiles bundle")
    case SQLITE_NOTADB:
      BundleError(
        .malformed, path: path, "is not an MBTiles bundle: the file is not an SQLite database, or its head is damaged",
        remedy: "check that it is the right file and was copied whole")
    case SQLITE_CORRUPT, SQLITE_FORMAT:
      BundleError(
        .malformed, path: path, "is damaged: \(error)",
        remedy: "make or copy it again; sqlite3's .recover may save a part")
    case SQLITE_BUSY, SQLITE_LOCKED:
      BundleError.beingWritten(path)
    case SQLITE_READONLY:
      BundleError(
        .busy, path: path, "a transaction that was cut off lies beside it and cannot be undone without writing",
        remedy: "undo it with: sqlite3 '\(path)' .tables")
    case SQLITE_CANTOPEN, SQLITE_PERM:
      BundleError(.readFailed, path: path, "cannot be opened: \(error)", remedy: "check the permissions")
    case SQLITE_FULL,
      SQLITE_IOERR where error.primary == SQLITE_FULL || error.code == noTemporaryFolder:
      BundleError(
        .readFailed, path: path,
        "there is no room for the temporary files that it needs in \(temporaryFolder ?? "any folder"): \(error)",
        remedy: "free space there, or name a folder with room for as many bytes as the bundle has: TMPDIR=FOLDER")
    case SQLITE_IOERR, SQLITE_NOMEM:
      BundleError(.readFailed, path: path, "could not be read: \(error)", remedy: "check the disk it lies on")
    default:
      BundleError(.malformed, path: path, "is not a bundle that can be read: \(error)")
    }
  }
}
