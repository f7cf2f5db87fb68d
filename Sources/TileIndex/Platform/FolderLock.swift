import Support

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Keeps a folder to one process. The system lets go of it when the process dies, however it does.
package final class FolderLock: Sendable {
  private let descriptor: Int32

  /// - Parameter path: of a file in the folder; it is made where it is missing, and stays.
  /// - Returns: nil when another process, or another object of this one, has had it for two seconds.
  /// - Throws: `FileSystem.SystemError`.
  package init?(_ path: String) throws {
    descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
    // A process that is being killed, or a program it was about to start, has the lock for a moment yet.
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

  deinit {
    // Closing alone would leave the lock to the copies in programs that other threads are just starting, until they become themselves.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}
