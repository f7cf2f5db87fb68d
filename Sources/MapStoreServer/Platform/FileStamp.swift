#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// What tells that a file became another, without reading it.
struct FileStamp: Hashable, Sendable {
  let inode: UInt64
  let bytes: Int
  let seconds: Int
  let nanoseconds: Int

  /// Nil when there is no plain file of this name.
  init?(_ path: String) {
    var info = stat()
    guard stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return nil }
    inode = UInt64(info.st_ino)
    bytes = Int(info.st_size)
    #if canImport(Darwin)
      (seconds, nanoseconds) = (info.st_mtimespec.tv_sec, info.st_mtimespec.tv_nsec)
    #else
      (seconds, nanoseconds) = (info.st_mtim.tv_sec, info.st_mtim.tv_nsec)
    #endif
  }
}
