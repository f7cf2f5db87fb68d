package import Support
import Synchronization

/// Files that other programs changed in place while this process read them. What lies in such a file counts as an
/// edition again when the file has been still for ``quietSeconds``: until then a copy may have paused halfway.
///
/// A file of which nobody saw a change, and one that was put in place by a rename, is an edition at once.
package enum ChangingFiles {
  /// How long a file must be still. A copy that pauses for longer, in a file of the same length, cannot be told from
  /// one that ended.
  package static let quietSeconds = 1.0
  /// How long a lock of SQLite's stands for a writer that uses such locks. Longer than the pauses of a program that
  /// fills a cache of tiles.
  private static let writerSeconds = 3.0
  private static let countMax = 4096

  private struct Change {
    var signature: FileSystem.Status
    /// When it was seen, by the monotonic clock.
    var seen: Double
    /// When a lock of a writer was last seen.
    var writerSeen: Double?
    /// False where somebody else's clock or memory is involved.
    var isLocal: Bool
    /// False where only a writer was seen.
    var isPending: Bool
  }

  /// By the path without symbolic links: the number of a file that is gone may be that of another one.
  private static let changes = Mutex<[String: Change]>([:])

  private static func key(_ path: String) -> String { (try? FileSystem.realPath(path)) ?? path }

  /// Notes that a file is not as it was.
  package static func note(_ old: FileSystem.Status, _ now: FileSystem.Status?, _ path: String, isLocal: Bool = true) {
    // Another file of the name is whole. With the earlier date and size nothing was written: somebody set the
    // permissions or made a link, or has finished and set the date.
    guard let now, now.identity == old.identity, !now.hasSameDateAndSize(as: old) else { return }
    let key = key(path)
    changes.withLock { changes in
      let known = changes[key]
      if let known, known.isPending, known.signature == now { return }
      if known == nil, changes.count >= countMax {
        let limit = MonotonicClock.seconds - 60
        changes = changes.filter { $0.value.seen > limit }
      }
      changes[key] = Change(
        signature: now, seen: MonotonicClock.seconds, writerSeen: known?.writerSeen, isLocal: isLocal, isPending: true)
    }
  }

  /// True if a file in this state may be read: nobody saw it change, or it has been still for long enough.
  package static func admits(_ signature: FileSystem.Status, _ path: String) -> Bool {
    let key = key(path)
    return changes.withLock { changes in
      guard var change = changes[key], change.isPending else { return true }
      guard change.signature.identity == signature.identity else {
        changes[key] = nil
        return true
      }
      let now = MonotonicClock.seconds
      if change.signature != signature { (change.signature, change.seen) = (signature, now) }
      let stillSeconds = max(now - change.seen, change.isLocal ? signature.age : 0)
      change.isPending = stillSeconds < quietSeconds
      changes[key] = change
      return !change.isPending
    }
  }

  /// Notes that a program holds locks of SQLite's on a file, so that these protect readers from it.
  static func noteWriter(_ signature: FileSystem.Status, _ path: String) {
    let key = key(path)
    changes.withLock { changes in
      let now = MonotonicClock.seconds
      let new = Change(signature: signature, seen: now, writerSeen: nil, isLocal: true, isPending: false)
      changes[key, default: new].writerSeen = now
    }
  }

  /// Notes that a file was changed by something that uses no locks.
  static func forgetWriter(_ path: String) {
    let key = key(path)
    changes.withLock { $0[key]?.writerSeen = nil }
  }

  /// True if such a program was seen a moment ago.
  static func hasWriter(_ signature: FileSystem.Status, _ path: String) -> Bool {
    let key = key(path)
    return changes.withLock { changes in
      guard let change = changes[key], change.signature.identity == signature.identity else { return false }
      return change.writerSeen.map { MonotonicClock.seconds - $0 < writerSeconds } ?? false
    }
  }
}

extension BundleError {
  /// A file that was changed while it was open.
  static func changed(_ path: String) -> BundleError {
    BundleError(
      .changed, path: path, "another program changed it while it was read",
      remedy: "try again when that program is done, or read a copy")
  }

  /// A file that is being changed.
  package static func beingWritten(_ path: String) -> BundleError {
    BundleError(
      .busy, path: path, "another program is writing it", remedy: "try again when it is done, or read a copy")
  }
}
