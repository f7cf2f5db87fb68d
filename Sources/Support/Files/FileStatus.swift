import CSystemShim
import LibC

extension FileSystem {
  package enum Kind { case file, folder, socket, other }

  /// The state of a file or folder, as its system tells it without reading the file.
  ///
  /// Every write changes it before it changes a byte: systems set both times first, and nobody can set the second one
  /// (ctime). It is proof only if it is older than the steps in which the file system counts time: two writes within
  /// one step look like one (``isSettled``).
  package struct Status: Hashable, Sendable {
    package let kind: Kind
    package let identity: FileIdentity
    package let bytes: Int
    /// Seconds since 1970, and nanoseconds.
    package let modified: Int
    package let modifiedNanoseconds: Int
    /// The ctime, which cannot be set back.
    package let changed: Int
    package let changedNanoseconds: Int
    /// Names of the file; 0 for one that was replaced or removed and is still open.
    package let links: Int

    fileprivate init(_ info: stat) {
      kind =
        switch info.st_mode & S_IFMT {
        case S_IFREG: .file
        case S_IFDIR: .folder
        case S_IFSOCK: .socket
        default: .other
        }
      identity = FileIdentity(
        device: UInt64(truncatingIfNeeded: info.st_dev), inode: UInt64(truncatingIfNeeded: info.st_ino))
      bytes = Int(info.st_size)
      links = Int(info.st_nlink)
      #if canImport(Darwin)
        (modified, modifiedNanoseconds) = (info.st_mtimespec.tv_sec, info.st_mtimespec.tv_nsec)
        (changed, changedNanoseconds) = (info.st_ctimespec.tv_sec, info.st_ctimespec.tv_nsec)
      #else
        (modified, modifiedNanoseconds) = (info.st_mtim.tv_sec, info.st_mtim.tv_nsec)
        (changed, changedNanoseconds) = (info.st_ctim.tv_sec, info.st_ctim.tv_nsec)
      #endif
    }
  }

  /// The status of a file or folder; nil when there is none at the path.
  ///
  /// - Parameter followingLinks: false for the status of a symbolic link itself, whose kind is `other`.
  package static func status(_ path: String, followingLinks: Bool = true) throws(SystemError) -> Status? {
    var info = stat()
    guard (followingLinks ? stat(path, &info) : lstat(path, &info)) == 0 else {
      let error = SystemError(number: errno)
      if error.isMissing { return nil }
      throw error
    }
    return Status(info)
  }

  /// The status of an open file.
  package static func status(of descriptor: Int32) throws(SystemError) -> Status {
    var info = stat()
    guard fstat(descriptor, &info) == 0 else { throw SystemError(number: errno) }
    return Status(info)
  }

  /// What the path leads to; nil when there is nothing, or the system does not say.
  package static func kind(_ path: String) -> Kind? { (try? status(path))?.kind }

  /// Size of a file; 0 when it is missing or its status cannot be read.
  package static func size(_ path: String) -> Int { (try? status(path))?.bytes ?? 0 }

  /// Bytes of a file on the disk: fewer where it has holes or its file system compresses. Some file systems never say,
  /// or late, so they are no part of a status.
  package static func storedBytes(_ path: String) -> Int {
    var info = stat()
    return stat(path, &info) == 0 ? 512 * Int(info.st_blocks) : 0
  }
}

/// Device and inode, which all names of a file share.
package struct FileIdentity: Hashable, Sendable {
  package let device: UInt64
  fileprivate let inode: UInt64

  fileprivate init(device: UInt64, inode: UInt64) { (self.device, self.inode) = (device, inode) }

  /// Of the file that a path leads to; nil when there is none.
  package init?(path: String) {
    guard let status = try? FileSystem.status(path) else { return nil }
    self = status.identity
  }

  /// Of an open file; nil when its system does not say.
  package init?(descriptor: Int32) {
    guard let status = try? FileSystem.status(of: descriptor) else { return nil }
    self = status.identity
  }
}

/// What is kept of a file's status to recognise the file later. Writing to or replacing a file changes one of the
/// members.
package struct FileStamp: Hashable, Codable, Sendable {
  package let bytes: Int
  package let seconds: Int
  package let nanoseconds: Int
  package let inode: UInt64

  /// Nil when there is no regular file at the path.
  package init?(_ path: String) {
    guard let status = try? FileSystem.status(path), status.kind == .file else { return nil }
    (bytes, inode) = (status.bytes, status.identity.inode)
    (seconds, nanoseconds) = (status.modified, status.modifiedNanoseconds)
  }
}

// MARK: - Changes

extension FileSystem.Status {
  /// True if a file that had the other status when it was opened has the same bytes still.
  ///
  /// Losing its last name sets the ctime of a file, and nothing else: a file that was replaced keeps its bytes.
  package func showsSameBytes(as opened: Self) -> Bool {
    self == opened || links == 0 && identity == opened.identity && hasSameDateAndSize(as: opened)
  }

  /// True if nothing was written, or somebody has finished writing and set the earlier date again.
  package func hasSameDateAndSize(as other: Self) -> Bool {
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
