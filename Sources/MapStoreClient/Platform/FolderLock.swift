import TileIndex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Keeps a folder to one process. The system lets go of it when the process dies, however it does.
final class FolderLock: Sendable {
  private let descriptor: Int32

  /// - Returns: nil when another process, or another object of this one, has had it for two seconds.
  /// - Throws: `FileSystem.SystemError`.
  init?(_ path: String) throws {
    descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
    // Programs that this process starts have its files for a moment, until they become themselves; so does a process that is being killed.
    for attempt in 1... {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
      let number = errno
      if number == EWOULDBLOCK, attempt < 100 {
        usleep(20_000)
        continue
      }
      if number == EINTR { continue }
      close(descriptor)
      if number == EWOULDBLOCK { return nil }
      throw FileSystem.SystemError(number: number)
    }
  }

  deinit { close(descriptor) }
}

/// Folders of a shelf.
enum ShelfFolder {
  /// Makes a folder and those above it.
  static func make(_ path: String) throws {
    var built = path.hasPrefix("/") ? "" : "."
    for name in path.split(separator: "/") {
      built += "/\(name)"
      if mkdir(built, 0o755) != 0, errno != EEXIST { throw FileSystem.SystemError(number: errno) }
    }
    guard try FileSystem.status(path)?.kind == .folder else { throw FileSystem.SystemError(number: ENOTDIR) }
  }
}
