#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A file that is open for reading until its last reference goes. Reads give their position, so threads can share it.
final class SourceFile: Sendable {
  let path: String
  let descriptor: Int32
  /// The file's size when it was opened.
  let size: Int

  /// - Throws: ``CutError`` `.unreadableSource` if it cannot be opened or is not a regular file.
  init(path: String) throws {
    self.path = path
    // Without O_NONBLOCK a pipe that nobody writes to would be waited for; regular files ignore it.
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      let reason = String(cString: strerror(errno))
      size = 0
      throw CutError(
        .unreadableSource, path: path, "cannot be opened: \(reason)", remedy: "check its name and permissions")
    }
    var facts = stat()
    let isRegular = fstat(descriptor, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
    size = isRegular ? Int(facts.st_size) : 0
    guard isRegular else {
      close(descriptor)
      throw CutError(
        .unreadableSource, path: path, "is not a regular file, so its parts cannot be read in any order",
        remedy: "name a raster file; save what comes through a pipe first")
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// The first bytes of the file, fewer if it is shorter.
  func prefix(_ count: Int) -> [UInt8] { bytes(at: 0, count: count) }

  /// Bytes from an offset on, fewer if the file ends before.
  func bytes(at offset: Int, count: Int) -> [UInt8] {
    guard offset >= 0, offset < size, count > 0 else { return [] }
    var bytes = [UInt8](repeating: 0, count: min(count, size - offset))
    var done = 0
    while done < bytes.count {
      let n = bytes.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress! + done, $0.count - done, off_t(offset + done))
      }
      if n < 0 && errno == EINTR { continue }
      guard n > 0 else { break }
      done += n
    }
    return Array(bytes.prefix(done))
  }

  /// The content of a small text file; nil if it does not exist or is longer than `bytesMax`.
  static func text(at path: String, bytesMax: Int) -> String? {
    guard let file = try? SourceFile(path: path), file.size <= bytesMax else { return nil }
    return String(decoding: file.prefix(file.size), as: UTF8.self)
  }
}
