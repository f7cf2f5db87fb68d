import Support
import TileIndex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// What a folder listing says about a file or folder: enough to notice that it became another.
struct FileStatus: Hashable, Sendable {
  var device: UInt64
  var inode: UInt64
  var bytes: Int
  /// Seconds since 1970.
  var modified: Int
  var modifiedNanoseconds: Int
  /// When anything about it changed, its name or the bytes; nobody can set it back. Seconds since 1970.
  var changed: Int
  var changedNanoseconds: Int
  var isFolder: Bool
  var isFile: Bool

  /// Follows symbolic links; nil when nothing is there.
  ///
  /// - Throws: ``Unseen`` when it cannot be said what is there: no descriptors left, a network drive that is away.
  init?(looking path: String) throws(Unseen) {
    var info = stat()
    guard stat(path, &info) == 0 else {
      if [ENOENT, ENOTDIR, ELOOP, EACCES, EPERM].contains(errno) { return nil }
      throw Unseen()
    }
    device = UInt64(truncatingIfNeeded: info.st_dev)
    inode = UInt64(truncatingIfNeeded: info.st_ino)
    bytes = Int(info.st_size)
    #if canImport(Darwin)
      modified = info.st_mtimespec.tv_sec
      modifiedNanoseconds = info.st_mtimespec.tv_nsec
      changed = info.st_ctimespec.tv_sec
      changedNanoseconds = info.st_ctimespec.tv_nsec
    #else
      modified = info.st_mtim.tv_sec
      modifiedNanoseconds = info.st_mtim.tv_nsec
      changed = info.st_ctim.tv_sec
      changedNanoseconds = info.st_ctim.tv_nsec
    #endif
    isFolder = info.st_mode & S_IFMT == S_IFDIR
    isFile = info.st_mode & S_IFMT == S_IFREG
  }
}

/// Something could not be looked at.
struct Unseen: Error {}

extension FileStatus {
  /// True when a folder cannot be listed for lack of rights, which will not pass by itself.
  static func isForbidden(_ folder: String) -> Bool { access(folder, R_OK | X_OK) != 0 && errno == EACCES }

  /// The same where it does not matter why nothing can be seen.
  init?(_ path: String) {
    guard let status = (try? FileStatus(looking: path)) ?? nil else { return nil }
    self = status
  }
}

enum Folder {
  /// The absolute path without symbolic links; the path itself when it cannot be resolved.
  static func realPath(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else { return path }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// The names in a folder but `.` and `..`, sorted by their bytes.
  static func names(_ path: String) throws(FileSystem.SystemError) -> [String] {
    guard let directory = opendir(path) else { throw FileSystem.SystemError(number: errno) }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}
