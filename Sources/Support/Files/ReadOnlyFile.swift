#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A regular file open for reading at any offset. Not memory-mapped: accessing a mapped file that was truncated ends
/// the process.
package final class ReadOnlyFile: Sendable {
  /// Valid as long as the object lives.
  package let descriptor: Int32
  /// Size when the file was opened.
  package let byteCount: Int

  /// The path is not a regular file.
  package struct NotAFile: Error { package let kind: FileSystem.Kind }

  /// - Throws: ``FileSystem/SystemError`` or ``NotAFile``.
  package init(_ path: String) throws {
    // The system would take a path with a NUL for the part before it.
    guard !path.utf8.contains(0) else { throw FileSystem.SystemError(number: ENOENT) }
    descriptor = LockedFiles.open(path)
    guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
    var info = stat()
    guard fstat(descriptor, &info) == 0 else {
      let error = FileSystem.SystemError(number: errno)
      LockedFiles.close(descriptor)
      throw error
    }
    byteCount = Int(info.st_size)
    guard info.st_mode & S_IFMT == S_IFREG else {
      LockedFiles.close(descriptor)
      throw NotAFile(kind: info.st_mode & S_IFMT == S_IFDIR ? .folder : .other)
    }
  }

  deinit { LockedFiles.close(descriptor) }

  /// Fills a buffer with the bytes from an offset on.
  ///
  /// - Returns: the number of bytes read; fewer than requested at the end of the file.
  /// - Throws: ``FileSystem/SystemError``.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
    try FileSystem.read(descriptor, into: buffer, at: offset)
  }
}

/// Bytes with random access: a file, or one on another machine.
package protocol ByteSource {
  /// The number of bytes.
  var byteCount: Int { get }

  /// Fills a buffer with the bytes from an offset on.
  ///
  /// - Returns: the number of bytes read; fewer than requested at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int

  /// The bytes from an offset on; fewer than requested at the end.
  func bytes(at offset: Int, count: Int) throws -> [UInt8]
}

extension ByteSource {
  package func bytes(at offset: Int, count: Int) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      initialized = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
    }
  }
}

extension ReadOnlyFile: ByteSource {}

/// Bytes in memory.
package struct MemoryBytes: ByteSource {
  private let all: [UInt8]

  package init(_ bytes: [UInt8]) { all = bytes }

  package var byteCount: Int { all.count }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
    let piece = all[min(max(offset, 0), all.count)...].prefix(buffer.count)
    buffer.copyBytes(from: piece)
    return piece.count
  }
}

/// Identifies a file's state without reading it. Writing to or replacing a file changes one of the members.
package struct FileStamp: Hashable, Codable, Sendable {
  package let bytes: Int
  package let seconds: Int
  package let nanoseconds: Int
  package let inode: UInt64

  /// Nil when there is no regular file at the path.
  package init?(_ path: String) {
    var info = stat()
    guard stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return nil }
    bytes = Int(info.st_size)
    inode = UInt64(info.st_ino)
    #if canImport(Darwin)
      (seconds, nanoseconds) = (info.st_mtimespec.tv_sec, info.st_mtimespec.tv_nsec)
    #else
      (seconds, nanoseconds) = (info.st_mtim.tv_sec, info.st_mtim.tv_nsec)
    #endif
  }
}
