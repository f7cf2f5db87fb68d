import LibC
import Support

/// A file that is open for reading until its last reference goes. Reads give their position, so threads can share it.
///
/// Its bytes are those of a file, of a scratch file with what came from elsewhere, or of a server.
final class SourceFile: Sendable {
  /// The name that the user gave, for messages.
  let path: String
  /// -1 for a file on a server.
  let descriptor: Int32
  /// The file's size when it was opened.
  let size: Int
  /// The server's file.
  let remote: RemoteSourceFile?
  /// Holds what came from elsewhere.
  private let scratch: ScratchFile?

  /// True for a file that other files may lie beside.
  var isPlain: Bool { remote == nil && scratch == nil }

  /// A path under which other libraries can open the file; not for one on a server.
  var readablePath: String { scratch == nil ? path : "/dev/fd/\(descriptor)" }

  /// - Throws: ``CutError`` `.unreadableSource` if it cannot be opened or is not a regular file.
  init(path: String) throws {
    self.path = path
    (remote, scratch) = (nil, nil)
    // Without O_NONBLOCK a pipe that nobody writes to would be waited for; regular files ignore it.
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      let error = FileSystem.SystemError(number: errno)
      size = 0
      if let scheme = path.firstRange(of: "://") {
        throw CutError(
          .unreadableSource, path: path, "is at an address of \(path[..<scheme.lowerBound]), which is not read",
          remedy: "name one of http or https, or a file")
      }
      throw CutError(
        .unreadableSource, path: path, "cannot be opened: \(error)",
        remedy: error.isOutOfDescriptors
          ? "raise the limit of open files: ulimit -n 65536" : "check its name and permissions")
    }
    let status = try? FileSystem.status(of: descriptor)
    size = status?.bytes ?? 0
    // What is thrown from here on closes the file by `deinit`.
    guard status?.kind == .file else {
      if status?.kind == .folder {
        throw CutError(.unreadableSource, path: path, "is a folder", remedy: "name the raster files in it")
      }
      throw CutError(
        .unreadableSource, path: path, "is not a regular file, so its parts cannot be read in any order",
        remedy: "name a raster file, or - to read standard input")
    }
  }

  /// The first bytes of a scratch file under a name of the user's.
  init(_ scratch: ScratchFile, size: Int, path: String) {
    (self.path, self.size, self.scratch, remote) = (path, size, scratch, nil)
    descriptor = scratch.descriptor
  }

  init(_ remote: RemoteSourceFile) {
    (path, size, self.remote, scratch) = (remote.path, remote.size, remote, nil)
    descriptor = -1
  }

  deinit { if descriptor >= 0, scratch == nil { close(descriptor) } }

  /// The first bytes of the file, fewer if it is shorter.
  func prefix(_ count: Int) -> [UInt8] { bytes(at: 0, count: count) }

  /// Bytes from an offset on, fewer if the file ends before.
  func bytes(at offset: Int, count: Int) -> [UInt8] {
    guard offset >= 0, offset < size, count > 0 else { return [] }
    var bytes = [UInt8](repeating: 0, count: min(count, size - offset))
    var done = 0
    while done < bytes.count {
      let n = bytes.withUnsafeMutableBytes { buffer in
        let (target, count) = (buffer.baseAddress! + done, buffer.count - done)
        return remote.map { $0.read(into: target, count: count, at: offset + done) ?? 0 }
          ?? pread(descriptor, target, count, off_t(offset + done))
      }
      if n < 0 && errno == EINTR { continue }
      guard n > 0 else { break }
      done += n
    }
    return Array(bytes.prefix(done))
  }

  /// The content of a small file; nil if it does not exist or is longer than `bytesMax`.
  static func bytes(at path: String, bytesMax: Int) -> [UInt8]? {
    guard let file = try? SourceFile(path: path), file.size <= bytesMax else { return nil }
    return file.prefix(file.size)
  }

  /// The content of a small text file in UTF-8, or in UTF-16 with a byte order mark, as Windows' programs write it,
  /// without that mark; nil as for ``bytes(at:bytesMax:)``.
  static func text(at path: String, bytesMax: Int) -> String? {
    guard let bytes = bytes(at: path, bytesMax: bytesMax) else { return nil }
    let isBigEndian = bytes.starts(with: [0xfe, 0xff])
    guard isBigEndian || bytes.starts(with: [0xff, 0xfe]) else { return UTF8Mark.text(bytes) }
    let units = stride(from: 2, to: bytes.count - 1, by: 2).map { at in
      UInt16(bytes[at]) << (isBigEndian ? 8 : 0) | UInt16(bytes[at + 1]) << (isBigEndian ? 0 : 8)
    }
    return String(decoding: units, as: UTF16.self)
  }
}
