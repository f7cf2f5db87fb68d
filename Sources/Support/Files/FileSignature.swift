import CSystemShim

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The state of a file or folder, as its system tells it without reading the file.
///
/// Every write changes the signature before it changes a byte: systems set both times first, and nobody can set the
/// second one (ctime). A signature is proof only if it is older than the steps in which the file system counts time:
/// two writes within one step look like one (``isSettled``).
package struct FileSignature: Hashable, Sendable {
  package var device: UInt64
  package var inode: UInt64
  package var bytes: Int
  /// Seconds since 1970, and nanoseconds.
  package var modified: Int
  package var modifiedNanoseconds: Int
  /// The ctime, which cannot be set back.
  package var changed: Int
  package var changedNanoseconds: Int
  /// Names of the file; 0 for one that was replaced or removed and is still open.
  package var links: Int

  package var kind: FileSystem.Kind

  init(_ info: stat) {
    device = UInt64(truncatingIfNeeded: info.st_dev)
    inode = UInt64(truncatingIfNeeded: info.st_ino)
    bytes = Int(info.st_size)
    links = Int(info.st_nlink)
    kind =
      switch info.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .folder
      case S_IFSOCK: .socket
      default: .other
      }
    #if canImport(Darwin)
      (modified, modifiedNanoseconds) = (info.st_mtimespec.tv_sec, info.st_mtimespec.tv_nsec)
      (changed, changedNanoseconds) = (info.st_ctimespec.tv_sec, info.st_ctimespec.tv_nsec)
    #else
      (modified, modifiedNanoseconds) = (info.st_mtim.tv_sec, info.st_mtim.tv_nsec)
      (changed, changedNanoseconds) = (info.st_ctim.tv_sec, info.st_ctim.tv_nsec)
    #endif
  }

  /// Of an open file; nil when its system does not say.
  package init?(of descriptor: Int32) {
    var info = stat()
    guard fstat(descriptor, &info) == 0 else { return nil }
    self.init(info)
  }

  /// Of the file that a path leads to; nil when there is none.
  package init?(ofPath path: String) {
    guard let found = try? FileSignature(lookingAt: path) else { return nil }
    self = found
  }

  /// Of the file that a path leads to.
  package init(lookingAt path: String) throws(FileSystem.SystemError) {
    var info = stat()
    guard stat(path, &info) == 0 else { throw FileSystem.SystemError(number: errno) }
    self.init(info)
  }

  /// True if both are states of one file.
  package func isSameFile(as other: FileSignature) -> Bool { device == other.device && inode == other.inode }

  /// True if a file that had the other signature when it was opened has the same bytes still.
  ///
  /// Losing its last name sets the ctime of a file, and nothing else: a file that was replaced keeps its bytes.
  package func showsSameBytes(as opened: FileSignature) -> Bool {
    self == opened || links == 0 && isSameFile(as: opened) && hasSameDateAndSize(as: opened)
  }

  /// True if nothing was written, or somebody has finished writing and set the earlier date again.
  package func hasSameDateAndSize(as other: FileSignature) -> Bool {
    bytes == other.bytes && modified == other.modified && modifiedNanoseconds == other.modifiedNanoseconds
  }

  /// Seconds since the file changed, by the clock of this machine; negative if that was set back.
  package var age: Double {
    let (now, part) = WallClock.precise
    let times = [(modified, modifiedNanoseconds), (changed, changedNanoseconds)]
    return times.map { Double(now - $0.0) + Double(part - $0.1) * 1e-9 }.min()!
  }

  /// The steps in which the file system counts time, with some room: FAT counts two seconds, old network drives one,
  /// and Linux sets times by a clock that ticks every 1 to 10 ms.
  package var stepSeconds: Double { modifiedNanoseconds == 0 && changedNanoseconds == 0 ? 2.1 : 0.02 }

  /// True if the next write will show, going by the clock of this machine. Its ticks may come late on a busy machine,
  /// so the clock of the files themselves has to be ahead, too.
  package var isSettled: Bool { age > stepSeconds && WallClock.ofFiles > (changed, changedNanoseconds) }
}

extension FileSystem {
  /// True for a disk of this machine, whose system knows of each write at once; false for network drives, and where
  /// that is not known.
  package static func isLocal(_ descriptor: Int32) -> Bool { csystem_is_local(descriptor) == 1 }

  /// True if another program holds a lock for writing on some bytes of an open file.
  package static func isWriteLocked(_ descriptor: Int32, _ bytes: Range<Int64>) -> Bool {
    csystem_is_write_locked(descriptor, bytes.lowerBound, Int64(bytes.count)) == 1
  }
}
