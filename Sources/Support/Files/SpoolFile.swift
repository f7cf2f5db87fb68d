import CSystemShim

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A file that is written from one end to the other through a buffer, and read again at any offset meanwhile. A POSIX
/// lock tells other processes that somebody writes it.
package final class SpoolFile {
  /// The disk begins with so many bytes at a time. Without that the system lets gigabytes wait until they are synced.
  private static let writebackBytes = 8 << 20

  private let descriptor: Int32
  private let buffer: UnsafeMutableRawBufferPointer
  private var buffered = 0
  /// The offset of the buffer's first byte.
  private var written: Int
  /// Whether the file will be synced, so that the disk may begin while it is written. False for a file that is only
  /// read again.
  package var isKept = true
  /// What is before it is on its way to the disk.
  private var begun: Int
  /// The end of the file, with what is in the buffer.
  package var end: Int { written + buffered }

  /// Opens an existing file.
  ///
  /// - Parameters:
  ///   - offset: where the first appended byte goes; what is before it is written by ``overwrite(_:at:)``.
  ///   - bufferBytes: larger appends go past the buffer.
  /// - Throws: ``FileSystem/SystemError``.
  package init(_ path: String, from offset: Int = 0, bufferBytes: Int = 1 << 20) throws {
    descriptor = open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    _ = fcntl(descriptor, F_SETLK, &lock)
    buffer = .allocate(byteCount: bufferBytes, alignment: 16)
    written = offset
    begun = offset
  }

  deinit {
    close(descriptor)
    buffer.deallocate()
  }

  package func append(_ bytes: UnsafeRawBufferPointer) throws {
    if buffered + bytes.count > buffer.count { try flush() }
    if bytes.count > buffer.count {
      try FileSystem.write(bytes, to: descriptor, at: written)
      written += bytes.count
    } else {
      UnsafeMutableRawBufferPointer(rebasing: buffer[buffered...]).copyMemory(from: bytes)
      buffered += bytes.count
    }
  }

  package func append(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try append($0) } }

  /// Appends bytes of another file without a buffer of their own.
  ///
  /// - Throws: ``FileSystem/SystemError``, also `EIO` when the other file is shorter.
  package func append(_ count: Int, of other: SpoolFile, at offset: Int) throws {
    var (offset, left) = (offset, count)
    while left > 0 {
      if buffered == buffer.count { try flush() }
      let part = min(left, buffer.count - buffered)
      // A tile that does not fit into the rest goes into an empty buffer, so that it is one read.
      if part < left, left <= buffer.count, buffered > 0 {
        try flush()
        continue
      }
      try other.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[buffered..<(buffered + part)]), at: offset)
      buffered += part
      offset += part
      left -= part
    }
  }

  /// Fills a buffer with bytes that were appended before.
  package func read(into target: UnsafeMutableRawBufferPointer, at offset: Int) throws {
    if offset + target.count > written { try flush() }
    guard try FileSystem.read(descriptor, into: target, at: offset) == target.count else {
      throw FileSystem.SystemError(number: EIO)
    }
  }

  /// Replaces bytes before the end.
  package func overwrite(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
    let inFile = max(0, min(bytes.count, written - offset))
    if inFile > 0 {
      try FileSystem.write(UnsafeRawBufferPointer(rebasing: bytes[..<inFile]), to: descriptor, at: offset)
    }
    guard inFile < bytes.count else { return }
    let place = offset + inFile - written
    UnsafeMutableRawBufferPointer(rebasing: buffer[place..<(place + bytes.count - inFile)])
      .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[inFile...]))
  }

  package func overwrite(_ bytes: [UInt8], at offset: Int) throws {
    try bytes.withUnsafeBytes { try overwrite($0, at: offset) }
  }

  /// Writes what is in the buffer.
  package func flush() throws {
    try FileSystem.write(UnsafeRawBufferPointer(rebasing: buffer[..<buffered]), to: descriptor, at: written)
    written += buffered
    buffered = 0
    guard isKept, written - begun >= Self.writebackBytes else { return }
    csystem_begin_writeback(descriptor, Int64(begun), Int64(written - begun))
    begun = written
  }
}

extension FileSystem.SystemError {
  /// There is not enough memory.
  package static let noMemory = FileSystem.SystemError(number: ENOMEM)
  /// Something is larger than its format allows.
  package static let tooLarge = FileSystem.SystemError(number: EFBIG)
}
