#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// An unlinked temporary file. The system frees its space when the process ends, however it ends.
final class ScratchFile: Sendable {
  let descriptor: Int32
  private let directory: String

  /// - Throws: ``CutError`` `.unwritableOutput` naming the directory.
  init(directory: String) throws {
    self.directory = directory
    var template = Array("\(directory)/.tilecut-XXXXXX".utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw Self.failure(directory, "cannot hold a scratch file", errno) }
    unlink(template)
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// - Throws: ``CutError`` `.unwritableOutput` if the disk is full or fails.
  func write(_ bytes: UnsafeRawPointer, count: Int, at offset: Int) throws {
    var done = 0
    while done < count {
      let n = pwrite(descriptor, bytes + done, count - done, off_t(offset + done))
      if n < 0 && errno == EINTR { continue }
      guard n > 0 else { throw Self.failure(directory, "has no room to spool a raster", errno) }
      done += n
    }
  }

  /// - Throws: ``CutError`` `.unwritableOutput` if the disk fails or the bytes were never written.
  func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) throws {
    var done = 0
    while done < count {
      let n = pread(descriptor, target + done, count - done, off_t(offset + done))
      if n < 0 && errno == EINTR { continue }
      guard n > 0 else { throw Self.failure(directory, "lost a spooled raster", errno) }
      done += n
    }
  }

  private static func failure(_ directory: String, _ what: String, _ code: Int32) -> CutError {
    CutError(
      .unwritableOutput, path: directory, "\(what): \(String(cString: strerror(code)))",
      remedy: "make room there, name another directory in TMPDIR, or allow more memory with --memory")
  }
}
