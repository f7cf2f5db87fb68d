import CSQLite
import Support

/// Opens an SQLite file for reading, without ever writing to it or beside it.
///
/// The way depends on the files beside it:
/// - None, or empty ones: `immutable=1`. There are no locks, which doubles the reads a second and allows read-only
///   media.
/// - `-wal` and `-shm`: `readonly_shm=1`. A program may be writing, and its locks are respected; if it is dead, SQLite
///   reads the log into its own memory.
/// - `-wal` alone: VFS `unix-none`, exclusive. No program has the file open. The index of the log, which would be a new
///   `-shm` file, stays in memory.
/// - `-journal`: `mode=ro`. SQLite decides whether the journal matters; an interrupted transaction cannot be rolled
///   back without writing.
enum BundleAccess {
  /// - Parameter path: the file as the caller named it.
  /// - Throws: ``BundleError`` with `.notFound`, or `.malformed` for what cannot be a bundle.
  static func open(_ path: String) throws -> SQLiteConnection {
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
      throw BundleError(.notFound, path: path, "cannot be opened: \(error)", remedy: "check the name and permissions")
    }
    do {
      let connection = try open(realPath: real, path: path)
      connection.setLimits(limits(fileBytes: FileSystem.size(real) + FileSystem.size(real + "-wal")))
      // Mapped pages measured 2.5 times slower when cold, and a truncated file would raise SIGBUS.
      try connection.execute("PRAGMA mmap_size = 0")
      // The system caches the pages once for all readers. A server has a reader for each thread, and SQLite's default
      // of 2 MB for each would dominate its memory.
      try connection.execute("PRAGMA cache_size = -512")
      // The schema is untrusted input.
      try connection.execute("PRAGMA trusted_schema = OFF")
      try connection.execute("PRAGMA query_only = ON")
      return connection
    } catch let error as SQLiteError {
      throw bundleError(error, path: path)
    }
  }

  /// What a query may cost: many times a scan of the whole file with sorting, which takes two steps a byte at most where
  /// rows are smallest. For a small file what a processor does in about a second.
  static func limits(fileBytes: Int) -> SQLiteLimits {
    SQLiteLimits(steps: 50_000_000 + 16 * fileBytes, valueBytes: tileBytesMax + 1024)
  }

  /// Larger tiles are refused, in every container.
  static let tileBytesMax = 64 << 20

  private static func open(realPath path: String, path named: String) throws -> SQLiteConnection {
    func connect(_ parameters: String...) throws -> SQLiteConnection {
      try SQLiteConnection(
        uri: SQLiteConnection.uri(path: path, parameters: ["mode=ro"] + parameters), flags: SQLITE_OPEN_READONLY)
    }
    let hasLog = FileSystem.size(path + "-wal") > 0
    let hasJournal = FileSystem.size(path + "-journal") > 0
    guard hasLog || hasJournal else {
      try DatabaseLength.check(realPath: path, path: named)
      return ResidentFileSystem.isAvailable
        ? try connect("immutable=1", "vfs=\(ResidentFileSystem.name)") : try connect("immutable=1")
    }
    let connection: SQLiteConnection
    if hasLog, FileSystem.size(path + "-shm") == 0 {
      connection = try connect("vfs=unix-none")
      try connection.setOption(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
      try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    } else {
      connection = try connect("readonly_shm=1")
    }
    connection.setBusyTimeout(milliseconds: 2000)
    return connection
  }

  /// `SQLITE_IOERR_GETTEMPPATH`
  private static let noTemporaryFolder = SQLITE_IOERR | (25 << 8)

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
      BundleError(
        .busy, path: path, "another program is writing it", remedy: "try again when it is done, or read a copy")
    case SQLITE_READONLY:
      BundleError(
        .busy, path: path, "a transaction that was cut off lies beside it and cannot be undone without writing",
        remedy: "undo it with: sqlite3 '\(path)' .tables")
    case SQLITE_CANTOPEN, SQLITE_PERM:
      BundleError(.notFound, path: path, "cannot be opened: \(error)", remedy: "check the permissions")
    case SQLITE_FULL,
      SQLITE_IOERR where error.primary == SQLITE_FULL || error.code == noTemporaryFolder:
      BundleError(
        .readFailed, path: path, "there is no room for the temporary files that it needs: \(error)",
        remedy: "name a folder with room for as many bytes as the bundle has: TMPDIR=FOLDER")
    case SQLITE_IOERR, SQLITE_NOMEM:
      BundleError(.readFailed, path: path, "could not be read: \(error)", remedy: "check the disk it lies on")
    default:
      BundleError(.malformed, path: path, "is not a bundle that can be read: \(error)")
    }
  }
}

/// Checks that an SQLite file has all its pages. SQLite itself reports a missing page only when it reads it, perhaps
/// hours after opening.
enum DatabaseLength {
  /// The header of a database (SQLite file format, section 1.3).
  private static let headerBytes = 100

  /// Only for files without a log or journal that holds changes: their header may be ahead of the file.
  ///
  /// - Parameters:
  ///   - realPath: the file.
  ///   - path: the file as the caller named it.
  /// - Throws: ``BundleError`` with `.malformed` when the file is shorter than its header says.
  static func check(realPath: String, path: String) throws {
    // A file that cannot be read here gets SQLite's own error.
    guard let file = try? ReadOnlyFile(realPath), let header = try? file.bytes(at: 0, count: headerBytes),
      header.count == headerBytes, header.starts(with: BundleMagic.sqlite)
    else { return }
    func number(_ offset: Int, _ count: Int) -> Int {
      header[offset..<(offset + count)].reduce(0) { $0 << 8 | Int($1) }
    }
    // The page count holds only if the last writer knew the field (section 1.3.8).
    guard number(24, 4) == number(92, 4) else { return }
    let pageBytes = number(16, 2) == 1 ? 65536 : number(16, 2)
    let expected = pageBytes * number(28, 4)
    guard expected > file.byteCount else { return }
    throw BundleError(
      .malformed, path: path, "is cut off: \(file.byteCount) of \(expected) bytes are there",
      remedy: "wait until it is copied, or copy it again")
  }
}
