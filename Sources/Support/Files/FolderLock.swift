#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Locks a folder for one process. The system releases the lock when the process ends, however it does.
package final class FolderLock: Sendable {
  private let descriptor: Int32

  /// - Parameter path: a file in the folder; created if missing, and never removed.
  /// - Returns: nil when another process, or another object of this one, has held the lock for two seconds.
  /// - Throws: `FileSystem.SystemError`.
  package init?(_ path: String) throws {
    descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
    // A process that is being killed, or a child between fork and exec, still holds the lock for a moment.
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
    // Closing alone would leave the lock with copies of the descriptor in children that other threads are just forking,
    // until they exec.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}
