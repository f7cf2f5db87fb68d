#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A plain file open for reading at any place. Not mapped into memory: a mapped file that gets shorter ends the process.
package final class ReadOnlyFile {
  private let descriptor: Int32
  /// Size when it was opened.
  package let byteCount: Int

  /// What was found in place of a plain file.
  package struct NotAFile: Error { package let kind: FileSystem.Kind }

  /// - Throws: ``FileSystem/SystemError`` or ``NotAFile``.
  package init(_ path: String) throws {
    // A path with a NUL would be another, shorter path to the system.
    guard !path.utf8.contains(0) else { throw FileSystem.SystemError(number: ENOENT) }
    // Opening a pipe would otherwise wait for its writer.
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
    var info = stat()
    guard fstat(descriptor, &info) == 0 else {
      let error = FileSystem.SystemError(number: errno)
      close(descriptor)
      throw error
    }
    byteCount = Int(info.st_size)
    guard info.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw NotAFile(kind: info.st_mode & S_IFMT == S_IFDIR ? .folder : .other)
    }
  }

  deinit { close(descriptor) }

  /// Fills a buffer with the bytes from a place on.
  ///
  /// - Returns: how many there were; fewer than asked for where the file ends.
  /// - Throws: ``FileSystem/SystemError``.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
    guard let base = buffer.baseAddress else { return 0 }
    var done = 0
    while done < buffer.count {
      let count = pread(descriptor, base + done, buffer.count - done, off_t(offset + done))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw FileSystem.SystemError(number: errno) }
      if count == 0 { break }
      done += count
    }
    return done
  }
}

/// Bytes that can be read at any place: of a file, or of one that another machine has.
package protocol ByteSource {
  /// All of them.
  var byteCount: Int { get }

  /// Fills a buffer with the bytes from a place on.
  ///
  /// - Returns: how many there were; fewer than asked for where they end.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int

  /// The bytes from a place on, fewer than asked for where they end.
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
