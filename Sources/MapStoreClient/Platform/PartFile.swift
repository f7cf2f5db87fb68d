import Support
import TileIndex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The file that a download goes into: written at any place, and put on the disk when asked to.
final class PartFile: Sendable {
  let path: String
  private let descriptor: Int32

  /// Opens a file, or makes it.
  ///
  /// - Throws: `FileSystem.SystemError`.
  init(_ path: String) throws {
    descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
    self.path = path
  }

  deinit { close(descriptor) }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
    guard let base = bytes.baseAddress else { return }
    var done = 0
    while done < bytes.count {
      let count = pwrite(descriptor, base + done, bytes.count - done, off_t(offset + done))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw FileSystem.SystemError(number: errno) }
      done += count
    }
  }

  /// Has everything on the disk when it returns.
  func synchronise() throws {
    try FileSystem.synchronise(descriptor)
  }

  /// Cuts off what lies beyond a length.
  func truncate(to bytes: Int) throws {
    guard ftruncate(descriptor, off_t(bytes)) == 0 else { throw FileSystem.SystemError(number: errno) }
  }
}
