import CSQLite
package import Support

/// A bundle's database that is open for reading, and what shows that all that was read is of one state.
package final class BundleDatabase {
  package let connection: SQLiteConnection
  /// Makes non-blocking reads possible; nil where they are not.
  let residentFile: ResidentFileSystem.File?
  private let protection: Protection
  /// Keeps SQLite's locks, where the protection is theirs. Ends after the connection.
  private let holder: LockedFiles.Holder?
  /// What an index was made of; nil without one.
  private var indexed: IndexedState?

  private enum IndexedState {
    /// Ends with the transaction in which the index was made.
    case transaction
    case version(UInt64)
  }

  /// How reads are kept apart from writes.
  enum Protection {
    /// Nobody writes: each read is checked, and a change ends the reader.
    case unchanged(UnchangedFile)
    /// SQLite's locks: programs that use them write now and then.
    case locks(WatchedLocks)
    /// A write-ahead log, in which each read has a state of its own.
    case log(WatchedLog)
  }

  init(_ connection: SQLiteConnection, _ protection: Protection, _ holder: LockedFiles.Holder? = nil) {
    (self.connection, self.holder) = (connection, holder)
    self.protection = protection
    if case .unchanged = protection, ResidentFileSystem.canReadResident {
      residentFile = ResidentFileSystem.File(connection)
    } else {
      residentFile = nil
    }
  }

  /// Runs a read, checks that all that it read is of one state, and converts SQLite's errors to errors that name the
  /// bundle.
  ///
  /// - Throws: ``BundleError`` with `.changed` if what was read may be of several states; what the closure throws.
  package func reading<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
    // Before the read, because the check after it may follow the end of the transaction in which the index was made.
    if case .transaction = indexed, !connection.isInTransaction { throw BundleError.changed(path) }
    do {
      let result = try body()
      try check(path)
      return result
    } catch let error as SQLiteError {
      // A change explains what SQLite takes for damage.
      try check(path)
      throw BundleAccess.bundleError(error, path: path)
    }
  }

  private func check(_ path: String) throws {
    do {
      switch protection {
      case .unchanged(let file): try file.check()
      case .locks(let locks): try locks.check(connection)
      case .log(let log): try log.check()
      }
      if case .version(let known) = indexed, !connection.isInTransaction, known != version {
        throw BundleError.changed(path)
      }
    } catch let error as BundleError {
      // As the caller named it.
      throw BundleError(error.code, path: path, error.message, remedy: error.remedy)
    }
  }

  /// True if a change ends the reader, so that it keeps to one state anyway.
  private var isChecked: Bool {
    if case .unchanged = protection { true } else { false }
  }

  /// Runs reads whose result holds for the present state alone, such as an index: reads of a later one end with
  /// `.changed` from then on.
  func keepingToThisState(_ path: String, _ body: () throws -> Void) throws {
    if isChecked || connection.isInTransaction {
      try reading(path, body)
      if !isChecked { indexed = indexed ?? .transaction }
      return
    }
    for _ in 0..<Self.attemptsMax {
      let before = version
      let isOfOneState = try reading(path) {
        try connection.transaction(.deferred) {
          // The first read decides which state the transaction sees.
          _ = try connection.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").first { _ in }
          guard version == before else { return false }
          try body()
          return true
        }
      }
      if isOfOneState {
        indexed = .version(before)
        return
      }
    }
    throw BundleError.beingWritten(path)
  }

  /// Of transactions that each begin while another program ends one.
  private static let attemptsMax = 20

  /// Differs between states of the database.
  package var version: UInt64 {
    switch protection {
    case .unchanged: 0
    case .locks: UInt64(DatabaseHeader(connection)?.changeCounter ?? 0)
    case .log(let log): log.version(connection)
    }
  }

  /// Runs a read of the whole bundle, which takes long: all of it is of one state. Programs that write with a rollback
  /// journal wait meanwhile, as for any long query; with a log nobody waits.
  func readingOneState<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
    if isChecked { return try body() }
    return try reading(path) { try connection.transaction(.deferred, body) }
  }

  /// Keeps to the present state as long as the database is open.
  func holdOneState(_ path: String) throws {
    guard !isChecked else { return }
    try reading(path) { try connection.execute("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1") }
  }
}

/// A database whose writers use SQLite's locks with a rollback journal: while a statement reads, nobody writes.
///
/// What overwrites the file without locks is noticed by the header, which SQLite's own transactions keep in order, and
/// by a change while no lock was seen for some seconds.
final class WatchedLocks {
  private let path: String
  private let realPath: String
  private var signature: FileSystem.Status
  private var counter: UInt32

  /// - Throws: ``BundleError`` with `.busy` if the file is being written by something that uses no locks, as far as is
  ///   known.
  init(_ connection: SQLiteConnection, realPath: String, path: String) throws {
    guard let signature = try? FileSystem.status(realPath), let header = DatabaseHeader(connection) else {
      throw BundleError.beingWritten(path)
    }
    (self.path, self.realPath, self.signature, counter) = (path, realPath, signature, header.changeCounter)
    if connection.seesWriter { ChangingFiles.noteWriter(signature, realPath) }
    // A log protects only those that know of it.
    guard !header.usesLog else { throw BundleError.changed(path) }
    guard
      ChangingFiles.admits(signature, realPath)
        || ChangingFiles.hasWriter(signature, realPath) && header.isWhole(connection)
    else {
      throw BundleError.beingWritten(path)
    }
  }

  func check(_ connection: SQLiteConnection) throws {
    guard let now = try? FileSystem.status(realPath) else { throw BundleError.changed(path) }
    guard now != signature else { return }
    if now.identity == signature.identity {
      if connection.seesWriter {
        // Its header may be half written. The next read without a lock looks at it.
        return ChangingFiles.noteWriter(now, realPath)
      }
      if ChangingFiles.hasWriter(now, realPath), let header = DatabaseHeader(connection), header.isWhole(connection),
        !header.usesLog, (1...Self.transactionsMax).contains(header.changeCounter &- counter)
      {
        (signature, counter) = (now, header.changeCounter)
        return
      }
      ChangingFiles.forgetWriter(realPath)
    }
    ChangingFiles.note(signature, now, realPath)
    throw BundleError.changed(path)
  }

  /// More than there are between two reads; the counter of another file differs by more, or is lower.
  private static let transactionsMax: UInt32 = 100_000
}

/// A database with a write-ahead log. It belongs to the log that it was opened with: a new one appears when all
/// programs have closed the database, which ends SQLite's promises to readers that are still open.
final class WatchedLog {
  private let path: String
  private let file: String
  private let database: String
  /// Of the log. The connection has it open, so that no other file gets its number.
  private let opened: FileSystem.Status
  /// True where no program had the database open: the log is read without locks.
  private let isAlone: Bool

  init(realPath: String, path: String, isAlone: Bool) throws {
    (self.path, self.isAlone) = (path, isAlone)
    (database, file) = (realPath, realPath + "-wal")
    guard let opened = try? FileSystem.status(file) else { throw BundleError.changed(path) }
    self.opened = opened
  }

  func check() throws {
    if let now = try? FileSystem.status(file), now.identity == opened.identity,
      !isAlone || now.hasSameDateAndSize(as: opened) && FileSystem.size(database + "-shm") == 0
    {
      return
    }
    if let signature = try? FileSystem.status(database) { ChangingFiles.noteWriter(signature, database) }
    throw BundleError.changed(path)
  }

  /// The head of the log's index, which changes with every transaction ("WAL-mode File Format", section 2.1).
  func version(_ connection: SQLiteConnection) -> UInt64 {
    if !isAlone, let head = connection.logIndexHead { return ContentHash.hash(head) }
    guard let now = try? FileSystem.status(file) else { return 0 }
    return UInt64(truncatingIfNeeded: now.hashValue)
  }
}

/// What the first page of a database says of it (SQLite's "Database File Format", section 1.3).
struct DatabaseHeader {
  let pageBytes: Int
  let pageCount: Int
  let changeCounter: UInt32
  /// True if the last writer knew the page count.
  let isPageCountValid: Bool
  /// True if transactions go to a write-ahead log.
  let usesLog: Bool

  static let byteCount = 100

  /// Nil for what is no database.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, bytes.starts(with: BundleMagic.sqlite) else { return nil }
    func number(_ offset: Int, _ count: Int) -> Int {
      bytes[offset..<(offset + count)].reduce(0) { $0 << 8 | Int($1) }
    }
    pageBytes = number(16, 2) == 1 ? 65536 : number(16, 2)
    pageCount = number(28, 4)
    changeCounter = UInt32(number(24, 4))
    isPageCountValid = number(24, 4) == number(92, 4)
    usesLog = bytes[18] == 2
  }

  /// Of an open database, as the file has it now.
  init?(_ connection: SQLiteConnection) {
    guard let file = connection.mainFile, let read = file.pointee.pMethods?.pointee.xRead else { return nil }
    var bytes = [UInt8](repeating: 0, count: Self.byteCount)
    guard bytes.withUnsafeMutableBytes({ read(file, $0.baseAddress, Int32($0.count), 0) }) == SQLITE_OK else {
      return nil
    }
    self.init(bytes)
  }

  /// Checks that a file without a log or journal has all its pages. SQLite itself reports a missing page only when it
  /// reads it, perhaps hours after opening.
  ///
  /// - Throws: ``BundleError`` with `.malformed` when the file is shorter than its header says.
  func check(fileBytes: Int, path: String) throws {
    let expected = pageBytes * pageCount
    guard isPageCountValid, expected > fileBytes else { return }
    throw BundleError(
      .malformed, path: path, "is cut off: \(fileBytes) of \(expected) bytes are there",
      remedy: "wait until it is copied, or copy it again")
  }

  /// True if the file has as many bytes as it says.
  func isWhole(_ connection: SQLiteConnection) -> Bool {
    var bytes: sqlite3_int64 = 0
    guard isPageCountValid, let file = connection.mainFile,
      file.pointee.pMethods?.pointee.xFileSize?(file, &bytes) == SQLITE_OK
    else { return false }
    return Int(bytes) == pageBytes * pageCount
  }
}

extension SQLiteConnection {
  /// SQLite's own open file; valid as long as the connection is.
  fileprivate var mainFile: UnsafeMutablePointer<sqlite3_file>? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK else { return nil }
    return file?.pointee.pMethods == nil ? nil : file
  }

  /// True if another connection holds a lock for writing.
  fileprivate var seesWriter: Bool {
    var isReserved: Int32 = 0
    guard let file = mainFile, file.pointee.pMethods?.pointee.xCheckReservedLock?(file, &isReserved) == SQLITE_OK else {
      return false
    }
    return isReserved != 0
  }

  /// Both copies of the head of the log's index, in the memory that all its users share.
  fileprivate var logIndexHead: UnsafeRawBufferPointer? {
    var page: UnsafeMutableRawPointer?
    guard let file = mainFile, let methods = file.pointee.pMethods, methods.pointee.iVersion >= 2 else { return nil }
    _ = withUnsafeMutablePointer(to: &page) { room in
      room.withMemoryRebound(to: UnsafeMutableRawPointer?.self, capacity: 1) {
        methods.pointee.xShmMap?(file, 0, 32_768, 0, $0)
      }
    }
    return page.map { UnsafeRawBufferPointer(start: $0, count: 96) }
  }
}
