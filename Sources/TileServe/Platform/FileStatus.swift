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
  var isFolder: Bool
  var isFile: Bool

  /// Follows symbolic links; nil when nothing can be seen there.
  init?(_ path: String) {
    var info = stat()
    guard stat(path, &info) == 0 else { return nil }
    device = UInt64(truncatingIfNeeded: info.st_dev)
    inode = UInt64(truncatingIfNeeded: info.st_ino)
    bytes = Int(info.st_size)
    #if canImport(Darwin)
      modified = info.st_mtimespec.tv_sec
      modifiedNanoseconds = info.st_mtimespec.tv_nsec
    #else
      modified = info.st_mtim.tv_sec
      modifiedNanoseconds = info.st_mtim.tv_nsec
    #endif
    isFolder = info.st_mode & S_IFMT == S_IFDIR
    isFile = info.st_mode & S_IFMT == S_IFREG
  }
}

enum Folder {
  /// The names in a folder but `.` and `..`, sorted by their bytes; nil when it cannot be read.
  static func names(_ path: String) -> [String]? {
    guard let directory = opendir(path) else { return nil }
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
