import CSystemShim
import Synchronization

/// Device and inode, which all names of a file share.
struct FileIdentity: Hashable, Sendable {
  private let device: UInt64
  private let inode: UInt64

  /// Nil of what is not there.
  init?(_ path: String) {
    var (device, inode): (UInt64, UInt64) = (0, 0)
    guard csystem_file_identity(path, &device, &inode) == 0 else { return nil }
    (self.device, self.inode) = (device, inode)
  }
}

/// Whether the ledger's names still lead to the files that were opened: SQLite goes on in a file that was removed or replaced, and what is committed there is
/// nobody's as soon as the process ends.
///
/// The file counts with the log and its index beside it: other processes make new ones where they are missing, and then neither side sees what the other writes.
final class OpenedFiles: Sendable {
  private let path: String
  private let files: [(name: String, identity: FileIdentity?)]
  private let gone = Mutex<String?>(nil)
  /// Read at each look-up, so it has no lock.
  private let isGone = Atomic(false)

  /// - Parameter isWatched: false of what is opened to be read only: its reader goes on with what it has opened.
  init(_ path: String, isWatched: Bool) {
    self.path = path
    // The ledger by the name that was given, which may be a link; SQLite keeps the others beside the file itself.
    let beside = Ledger.resolved(path)
    let names = isWatched ? [path, beside + "-wal", beside + "-shm"] : []
    files = names.map { ($0, FileIdentity($0)) }.filter { $0.identity != nil || $0.name == path }
  }

  /// Looks at the files.
  ///
  /// - Throws: `LedgerError` with code `gone`, until all of them are back; copies are others.
  /// - Complexity: three calls of the system, some microseconds.
  func check() throws(LedgerError) {
    let missing = files.first { $0.identity == nil || FileIdentity($0.name) != $0.identity }?.name
    isGone.store(missing != nil, ordering: .relaxed)
    gone.withLock { $0 = missing }
    try refuseIfGone()
  }

  /// The same as it was found the last time.
  func refuseIfGone() throws(LedgerError) {
    guard isGone.load(ordering: .relaxed), let name = gone.withLock({ $0 }) else { return }
    throw LedgerError(
      .gone, at: path,
      "\(name == path ? "it" : name) was removed or replaced while it is open; put the same file back, or start again")
  }
}
