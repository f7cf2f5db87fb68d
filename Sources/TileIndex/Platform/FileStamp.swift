#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// What tells a file's state without reading it. A file that was written to, or replaced by another, differs in one of them.
package struct FileStamp: Hashable, Codable, Sendable {
  package let bytes: Int
  package let seconds: Int
  package let nanoseconds: Int
  package let inode: UInt64

  /// Nil when there is no plain file of this name.
  package init?(_ path: String) {
    var info = stat()
    guard stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return nil }
    bytes = Int(info.st_size)
    inode = UInt64(info.st_ino)
    #if canImport(Darwin)
      (seconds, nanoseconds) = (info.st_mtimespec.tv_sec, info.st_mtimespec.tv_nsec)
    #else
      (seconds, nanoseconds) = (info.st_mtim.tv_sec, info.st_mtim.tv_nsec)
    #endif
  }
}
