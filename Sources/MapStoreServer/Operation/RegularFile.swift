import LibC
import NIOCore
import Support

/// A regular file, open for reading. Replacing the file under its name does not change it.
final class RegularFile: Sendable {
  private let file: ReadOnlyFile
  /// Valid as long as the object lives.
  var descriptor: CInt { file.descriptor }
  var byteCount: Int { file.byteCount }

  /// Nil if there is no regular file of this name, or it cannot be read.
  init?(_ path: String) {
    guard let file = try? ReadOnlyFile(path) else { return nil }
    self.file = file
  }

  static let becameShorter = FileSystem.SystemError(number: ENODATA)

  /// The whole file.
  ///
  /// - Throws: `FileSystem.SystemError`, also if it is larger than `countMax`.
  func allBytes(countMax: Int) throws -> [UInt8] {
    guard byteCount <= countMax else { throw FileSystem.SystemError.tooLarge }
    var buffer = try bytes(at: 0, count: byteCount)
    return buffer.readBytes(length: buffer.readableBytes) ?? []
  }

  /// `count` bytes from an offset.
  ///
  /// - Throws: `FileSystem.SystemError` if the disk fails, or the file has become shorter.
  func bytes(at offset: Int, count: Int) throws -> ByteBuffer {
    var buffer = ByteBufferAllocator().buffer(capacity: count)
    try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { pointer in
      let done = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: pointer[..<count]), at: offset)
      guard done == count else { throw Self.becameShorter }
      return done
    }
    return buffer
  }

  /// Whether the file still has all bytes up to an offset.
  func reaches(_ end: Int) -> Bool { (try? file.status()).map { $0.bytes >= end } ?? false }

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
