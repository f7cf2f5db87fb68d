import NIOCore

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A plain file that is open for reading. It stays what it was when its name is given to another file.
final class OpenFile: Sendable {
  /// Valid as long as this object.
  let descriptor: CInt
  let byteCount: Int

  /// Nil when there is no plain file of this name, or it may not be read.
  init?(_ path: String) {
    // Opening a pipe would otherwise wait for its writer.
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
  /// - Throws: ``Failure``, also when it is larger than `countMax`.
  func allBytes(countMax: Int) throws -> [UInt8] {
    guard byteCount <= countMax else { throw Failure(number: EFBIG) }
    var buffer = try bytes(at: 0, count: byteCount)
    return buffer.readBytes(length: buffer.readableBytes) ?? []
  }

  /// The bytes from a place on.
  ///
  /// - Throws: ``Failure`` when the disk fails, or the file has become shorter.
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

  /// Whether the file still has all bytes up to a place.
  func reaches(_ end: Int) -> Bool {
    var info = stat()
    return fstat(descriptor, &info) == 0 && Int(info.st_size) >= end
  }

  /// Has the system read a part into its cache meanwhile; does not wait for it.
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
