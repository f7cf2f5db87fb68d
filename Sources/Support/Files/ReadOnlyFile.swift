import LibC

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
    let status: FileSystem.Status
    do {
      status = try FileSystem.status(of: descriptor)
    } catch {
      LockedFiles.close(descriptor)
      throw error
    }
    byteCount = status.bytes
    // From here on the object is complete: what is thrown closes the file by `deinit`.
    guard status.kind == .file else { throw NotAFile(kind: status.kind) }
  }

  deinit { LockedFiles.close(descriptor) }

  /// The status of the file now.
  package func status() throws(FileSystem.SystemError) -> FileSystem.Status { try FileSystem.status(of: descriptor) }

  /// Fills a buffer with the bytes from an offset on.
  ///
  /// - Returns: the number of bytes read; fewer than requested at the end of the file.
  /// - Throws: ``FileSystem/SystemError``.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
    try FileSystem.read(descriptor, into: buffer, at: offset)
  }
}

extension FileSystem {
  /// Overwrites an existing, empty file with the bytes of another one.
  ///
  /// - Parameter progress: called with the number of bytes copied so far.
  package static func copy(_ path: String, over target: String, progress: (Int) -> Void = { _ in }) throws {
    let source = try ReadOnlyFile(path)
    let descriptor = open(target, O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(number: errno) }
    defer { close(descriptor) }
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    defer { block.deallocate() }
    var offset = 0
    while true {
      let count = try source.read(into: block, at: offset)
      guard count > 0 else { return }
      try write(UnsafeRawBufferPointer(rebasing: block[..<count]), to: descriptor)
      offset += count
      progress(offset)
    }
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
