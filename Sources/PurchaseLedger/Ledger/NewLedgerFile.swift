import Foundation
import Support

/// The file that a new ledger is made in: `.NAME.unfinished`, beside the name that it is given once it is whole and on the disk.
///
/// Meanwhile its folder is locked, so that one at a time makes a ledger there, and what an unfinished one left behind is nobody's.
final class NewLedgerFile {
  /// The path the caller named, for messages.
  private let target: String
  /// The same without links.
  private let name: String
  /// Whether a file of that name makes room.
  private let replaces: Bool
  /// What to do when there is one and it does not.
  private let remedy: String
  /// Where the ledger is made.
  let path: String
  private let folder: Int32

  /// Begins with an empty file that only its owner may read and write: purchases and hashes of passwords are nobody else's. SQLite gives its log the same rights.
  ///
  /// - Throws: `LedgerError`: there is something of that name, or nothing can be written there.
  init(
    for target: String, replaces: Bool = false, remedy: String = "open it, or name another for a new ledger"
  ) throws(LedgerError) {
    self.target = target
    self.replaces = replaces
    self.remedy = remedy
    name = Ledger.resolved(target)
    let url = URL(fileURLWithPath: name)
    let parent = url.deletingLastPathComponent()
    path = parent.appendingPathComponent(".\(url.lastPathComponent).unfinished").path
    folder = open(parent.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
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
    // Closing alone would leave the lock to the copies in programs that other threads are just starting.
    flock(folder, LOCK_UN)
    close(folder)
  }

  /// Puts the ledger on the disk and gives it its name. The database must be closed.
  func commit() throws(LedgerError) {
    try sync()
    // Somebody who is not making a ledger may have put a file there.
    try check()
    do { try FileSystem.rename(path, replacing: name) } catch { throw failure }
    guard (try? FileSystem.synchronise(folder)) != nil else {
      throw LedgerError(
        .database, at: target, "was made, but the system cannot say that it stays; check the disk and open it")
    }
  }

  private func sync() throws(LedgerError) {
    do { try FileSystem.synchronise(path) } catch { throw failure }
  }

  /// Removes what did not become a ledger.
  func remove() { for suffix in [""] + Self.logs + ["-shm"] { unlink(path + suffix) } }

  private static let logs = ["-wal", "-journal"]

  /// Whoever has it needs it for a moment.
  private func lock() throws(LedgerError) {
    for attempt in 1... {
      if flock(folder, LOCK_EX | LOCK_NB) == 0 { return }
      guard errno == EWOULDBLOCK || errno == EINTR else { throw failure }
      guard attempt < 500 else {
        throw LedgerError(.database, at: target, "another process keeps its folder locked; try again when it is done")
      }
      usleep(20_000)
    }
  }

  private func check() throws(LedgerError) {
    let files = FileManager.default
    if let attributes = try? files.attributesOfItem(atPath: name) {
      let type = attributes[.type] as? FileAttributeType
      if type == .typeDirectory { throw LedgerDatabase.isFolder(target) }
      // An empty file is what a temporary name leaves; anything else is somebody's.
      guard type == .typeRegular, attributes[.size] as? Int == 0 || replaces else {
        throw LedgerError(.configuration, at: target, "there is a file already; \(remedy)")
      }
    }
    // SQLite would play them back into the new ledger.
    for log in Self.logs.map({ name + $0 }) {
      guard let size = try? files.attributesOfItem(atPath: log)[.size] as? Int, size > 0 else { continue }
      throw LedgerError(.configuration, at: target, "\(log) has changes to a ledger that is gone; move it away")
    }
  }

  /// What the system's last call says.
  private var failure: LedgerError {
    LedgerError(
      .database, at: target,
      "no file can be made there (\(String(cString: strerror(errno)))); check the folder and its permissions")
  }
}
