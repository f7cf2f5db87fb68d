internal import CSystemShim

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Has the system write a growing file to its disk while it grows. Left alone, Linux waits until a tenth of the memory
/// is to be written, or half a minute, so that the disk idles first and `fsync` at the end waits for nearly everything.
///
/// Only the time changes, never the file. Does nothing where a system has no such call. For one thread at a time.
package final class EarlyWriteback {
  /// Few enough for the disk to start soon, and enough for long requests.
  private static let stepBytes = 8 << 20
  private let descriptor: Int32
  private let isOwn: Bool
  private var waiting = 0

  /// For a file that others write. The file must not be locked by this process after this object: closing it lets go of
  /// the process's POSIX locks.
  package init(_ path: String) {
    descriptor = open(path, O_RDWR | O_CLOEXEC)
    isOwn = true
  }

  /// For an open file, whose owner closes it.
  init(borrowing descriptor: Int32) {
    self.descriptor = descriptor
    isOwn = false
  }

  deinit { if isOwn, descriptor >= 0 { close(descriptor) } }

  /// Says that so many bytes were written since the last call.
  package func grew(by byteCount: Int) {
    waiting += byteCount
    guard waiting >= Self.stepBytes, descriptor >= 0 else { return }
    waiting = 0
    csystem_start_writing(descriptor)
  }
}
