import LibC
import Synchronization

/// The files on which connections of this process may hold locks of SQLite's.
///
/// These are POSIX locks: when a process closes any descriptor of a file, all its locks on the file end ("How To
/// Corrupt An SQLite Database File", section 2.2). SQLite sees to that for its own descriptors and knows of no others.
/// So all others are opened and closed here: one of a file that is locked is kept until the last such connection has
/// ended, and serves whoever opens the file meanwhile.
package enum LockedFiles {
  private struct Entry {
    var holders = 0
    var kept: [Int32] = []
  }

  private static let entries = Mutex<[FileIdentity: Entry]>([:])

  /// Keeps the locks of one connection as long as it exists.
  package final class Holder: Sendable {
    private let file: FileIdentity

    /// - Parameter path: of the file, before the connection takes a lock. Nil when there is none.
    package init?(_ path: String) {
      guard let file = FileIdentity(path: path) else { return nil }
      self.file = file
      entries.withLock { $0[file, default: Entry()].holders += 1 }
    }

    /// True if this is of the file that a path leads to now.
    package func isOf(_ path: String) -> Bool { FileIdentity(path: path) == file }

    deinit {
      entries.withLock { entries in
        entries[file]!.holders -= 1
        guard entries[file]!.holders == 0, let entry = entries.removeValue(forKey: file) else { return }
        for descriptor in entry.kept { LibC.close(descriptor) }
      }
    }
  }

  /// A descriptor for reading; -1 (errno). Never waits for the writer of a pipe.
  package static func open(_ path: String) -> Int32 {
    let kept = entries.withLock { entries -> Int32? in
      guard !entries.isEmpty, let file = FileIdentity(path: path) else { return nil }
      return entries[file]?.kept.popLast()
    }
    return kept ?? LibC.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
  }

  /// Closes a descriptor of ``open(_:)``.
  package static func close(_ descriptor: Int32) {
    entries.withLock { entries in
      if !entries.isEmpty, let file = FileIdentity(descriptor: descriptor), entries[file] != nil {
        entries[file]!.kept.append(descriptor)
      } else {
        LibC.close(descriptor)
      }
    }
  }
}
