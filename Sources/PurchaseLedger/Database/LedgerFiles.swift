import LibC
import Support
import Synchronization

/// Detects that the ledger's files were removed or replaced while they are open: SQLite keeps writing to a removed
/// file, and what is committed there is lost when the process ends.
///
/// The log and its index are watched too: other processes create new ones if they are missing, and then neither side
/// sees what the other writes.
final class OpenedFiles: Sendable {
  private let path: String
  private let files: [(name: String, identity: FileIdentity?)]
  private let gone = Mutex<String?>(nil)
  /// An atomic instead of a lock, because every read checks it.
  private let isGone = Atomic(false)

  /// - Parameter isWatched: False for a ledger opened read-only, whose reader keeps the files it has opened.
  init(_ path: String, isWatched: Bool) {
    self.path = path
    // The ledger is watched under the given name, which may be a link; SQLite keeps the log and its index beside the
    // link's target.
    let beside = FileSystem.resolvingLinks(path)
    let names = isWatched ? [path, beside + "-wal", beside + "-shm"] : []
    files = names.map { ($0, FileIdentity(path: $0)) }.filter { $0.identity != nil || $0.name == path }
  }

  /// Compares the files' identities with those that were opened.
  ///
  /// - Throws: `LedgerError` with code `gone` until the same files are back; copies have other identities.
  /// - Complexity: three system calls, a few microseconds.
  func check() throws(LedgerError) {
    let missing = files.first { $0.identity == nil || FileIdentity(path: $0.name) != $0.identity }?.name
    isGone.store(missing != nil, ordering: .relaxed)
    gone.withLock { $0 = missing }
    try refuseIfGone()
  }

  /// Throws the result of the last `check` without looking at the files again.
  func refuseIfGone() throws(LedgerError) {
    guard isGone.load(ordering: .relaxed), let name = gone.withLock({ $0 }) else { return }
    throw LedgerError(
      .gone, at: path,
      "\(name == path ? "it" : name) was removed or replaced while it is open",
      remedy: "put the same file back, or start again")
  }
}

/// The file in which a new ledger is created: `.NAME.unfinished` beside its final name, to which it is renamed once it
/// is complete and synced.
///
/// The folder is locked meanwhile: one process at a time creates a ledger there, so a leftover unfinished file may be
/// removed.
final class NewLedgerFile {
  /// The path as the caller gave it, for messages.
  private let target: String
  /// The path without links.
  private let name: String
  /// Whether an existing file is replaced.
  private let replaces: Bool
  /// The remedy to report if a file exists and is not replaced.
  private let remedy: String
  /// Where the ledger is created.
  let path: String
  private let folder: Int32

  /// Creates an empty file that only its owner may read and write, because it holds purchases and password hashes.
  /// SQLite gives the log the same permissions.
  ///
  /// - Throws: `LedgerError` if the name is taken or the folder is not writable.
  init(
    for target: String, replaces: Bool = false, remedy: String = "open it, or name another for a new ledger"
  ) throws(LedgerError) {
    self.target = target
    self.replaces = replaces
    self.remedy = remedy
    name = FileSystem.resolvingLinks(target.withoutSlashes)
    let (parent, file) = FileSystem.split(name)
    path = "\(parent)/.\(file).unfinished"
    folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw failure }
    try lock()
    try check()
    remove()
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure }
    close(descriptor)
  }

  deinit {
    guard folder >= 0 else { return }
    // Closing alone would not release the lock while a child process that is being started still has a copy of the
    // descriptor.
    flock(folder, LOCK_UN)
    close(folder)
  }

  /// Syncs the file and renames it to its final name. The database must be closed.
  func commit() throws(LedgerError) {
    try sync()
    // Another program may have created a file of that name meanwhile.
    try check()
    do { try FileSystem.rename(path, replacing: name) } catch { throw failure }
    guard (try? FileSystem.synchronise(folder)) != nil else {
      throw LedgerError(
        .database, at: target, "was created, but its folder cannot be synced to the disk",
        remedy: "check the disk, then open it")
    }
  }

  private func sync() throws(LedgerError) {
    do { try FileSystem.synchronise(path) } catch { throw failure }
  }

  /// Removes the unfinished file and SQLite's files beside it.
  func remove() { for suffix in [""] + Self.logs + ["-shm"] { unlink(path + suffix) } }

  private static let logs = ["-wal", "-journal"]

  /// Waits up to ten seconds for the folder's lock, which processes hold only briefly.
  private func lock() throws(LedgerError) {
    for attempt in 1... {
      if flock(folder, LOCK_EX | LOCK_NB) == 0 { return }
      guard errno == EWOULDBLOCK || errno == EINTR else { throw failure }
      guard attempt < 500 else {
        throw LedgerError(
          .database, at: target, "another process keeps its folder locked", remedy: "try again when it is done")
      }
      usleep(20_000)
    }
  }

  private func check() throws(LedgerError) {
    if let status = try? FileSystem.status(name, followingLinks: false) {
      if status.kind == .folder { throw LedgerError.isFolder(target) }
      // An empty file may have been made to reserve the name; any other file is kept.
      guard status.kind == .file, status.bytes == 0 || replaces else {
        throw LedgerError(.exists, at: target, "the file exists already", remedy: remedy)
      }
    }
    // SQLite would apply a leftover log to the new ledger.
    for log in Self.logs.map({ name + $0 }) {
      guard FileSystem.size(log) > 0 else { continue }
      throw LedgerError(
        .configuration, at: target, "\(log) contains changes to a ledger that no longer exists", remedy: "move it away")
    }
  }

  /// The error of the last system call.
  private var failure: LedgerError {
    LedgerError(
      .database, at: target,
      "cannot be created (\(FileSystem.SystemError(number: errno)))", remedy: "check the folder and its permissions")
  }
}

extension LedgerError {
  static func isFolder(_ path: String) -> LedgerError {
    LedgerError(.notALedger, at: path, "is a folder", remedy: "name the ledger's file in it")
  }
}
