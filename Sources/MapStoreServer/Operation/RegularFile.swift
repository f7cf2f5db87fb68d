import NIOCore

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A regular file, open for reading. Replacing the file under its name does not change it.
final class RegularFile: Sendable {
  /// Valid as long as the object lives.
  let descriptor: CInt
  let byteCount: Int

  /// Nil if there is no regular file of this name, or it cannot be read.
  init?(_ path: String) {
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    var info = stat()
    guard fstat(descriptor, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      return nil
    }
    byteCount = Int(info.st_size)
  }

  deinit { close(descriptor) }

  /// The whole file.
  ///
  /// - Throws: ``Failure``, also if it is larger than `countMax`.
  func allBytes(countMax: Int) throws -> [UInt8] {
    guard byteCount <= countMax else { throw Failure(number: EFBIG) }
    var buffer = try bytes(at: 0, count: byteCount)
    return buffer.readBytes(length: buffer.readableBytes) ?? []
  }

  /// `count` bytes from an offset.
  ///
  /// - Throws: ``Failure`` if the disk fails, or the file has become shorter.
  func bytes(at offset: Int, count: Int) throws -> ByteBuffer {
    var buffer = ByteBufferAllocator().buffer(capacity: count)
    try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { pointer in
      var done = 0
      while done < count {
        let read = pread(descriptor, pointer.baseAddress! + done, count - done, off_t(offset + done))
        if read < 0, errno == EINTR { continue }
        guard read > 0 else { throw Failure(number: read < 0 ? errno : ENODATA) }
        done += read
      }
      return done
    }
    return buffer
  }

  /// Whether the file still has all bytes up to an offset.
  func reaches(_ end: Int) -> Bool {
    var info = stat()
    return fstat(descriptor, &info) == 0 && Int(info.st_size) >= end
  }

  /// Asks the system to read a range into its page cache; does not wait.
  func prefetch(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    #if canImport(Darwin)
      var advice = radvisory(ra_offset: off_t(range.lowerBound), ra_count: CInt(clamping: range.count))
      _ = fcntl(descriptor, F_RDADVISE, &advice)
    #else
      _ = posix_fadvise(descriptor, off_t(range.lowerBound), off_t(range.count), POSIX_FADV_WILLNEED)
    #endif
  }

  /// An errno.
  struct Failure: Error, CustomStringConvertible {
    let number: Int32
    static let becameShorter = Self(number: ENODATA)
    var description: String { String(cString: strerror(number)) }
  }
}

/// Files with secret keys.
enum KeyFile {
  /// - Throws: ``StoreError`` if it cannot be read.
  static func bytes(_ path: String) throws -> [UInt8] {
    guard let bytes = try? RegularFile(path)?.allBytes(countMax: 1 << 16) else {
      throw StoreError(.unreadableInput, at: path, "the key cannot be read", remedy: "check the name and permissions")
    }
    return bytes
  }
}

/// Media types by file name extension.
enum MediaType {
  static func ofFile(named name: String) -> String {
    switch name.split(separator: ".").last {
    case "png": "image/png"
    case "jpg", "jpeg": "image/jpeg"
    case "webp": "image/webp"
    case "svg": "image/svg+xml"
    case "css": "text/css; charset=utf-8"
    case "js": "text/javascript; charset=utf-8"
    case "mbtiles": "application/vnd.sqlite3"
    case "pmtiles": "application/vnd.pmtiles"
    default: "application/octet-stream"
    }
  }
}
