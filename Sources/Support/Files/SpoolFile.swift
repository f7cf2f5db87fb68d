import CSystemShim
import LibC

/// A file that is written from one end to the other through a buffer, and read again at any offset meanwhile. A POSIX
/// lock tells other processes that somebody writes it.
///
/// The first 256 MiB stay in the system's cache, where those who need a small file next find it. The rest of a larger
/// file goes past the cache (``DirectWriter``), if it is not flushed before its end: copying it there takes as long as
/// the disk does, and pushes out what other programs have in it.
package final class SpoolFile {
  /// The disk begins with so many bytes at a time. Without that the system lets gigabytes wait until they are synced.
  private static let writebackBytes = 8 << 20
  private static let blockBytes = 1 << 20

  private let descriptor: Int32
  /// Full blocks from this offset on go past the system's cache.
  private let cachedBytes: Int
  private var buffer: UnsafeMutableRawBufferPointer
  private var buffered = 0
  /// The offset of the buffer's first byte.
  private var written: Int
  /// Whether the file will be synced, so that the disk may begin while it is written. False for a file that is only
  /// read again.
  package var isKept = true
  /// What is before it is on its way to the disk.
  private var begun: Int
  /// Nil before the first block that goes past the cache, and where the file system has no such way.
  private var direct: DirectWriter?
  private var triesDirect = true
  /// The end of the file, with what is in the buffer.
  package var end: Int { written + buffered }

  /// Opens an existing file.
  ///
  /// - Parameters:
  ///   - offset: where the first appended byte goes; what is before it is written by ``overwrite(_:at:)``.
  ///   - cachedBytes: how much of the file goes through the system's cache in any case.
  /// - Throws: ``FileSystem/SystemError``.
  package init(_ path: String, from offset: Int = 0, cachedBytes: Int = 256 << 20) throws {
    descriptor = open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    _ = fcntl(descriptor, F_SETLK, &lock)
    buffer = DirectWriter.makeBlock(Self.blockBytes)
    (self.cachedBytes, written, begun) = (cachedBytes, offset, offset)
  }

  deinit {
    // Its descriptor is closed with this one: closing any of a file ends the lock.
    direct?.stop()
    close(descriptor)
    buffer.deallocate()
  }

  // MARK: - Appending

  package func append(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes
    while !rest.isEmpty {
      let part = min(rest.count, buffer.count - buffered)
      UnsafeMutableRawBufferPointer(rebasing: buffer[buffered...])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: rest[..<part]))
      rest = UnsafeRawBufferPointer(rebasing: rest[part...])
      try didFill(part)
    }
  }

  package func append(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try append($0) } }

  /// Appends bytes of another file without a buffer of their own.
  ///
  /// - Throws: ``FileSystem/SystemError``, also `EIO` when the other file is shorter.
  package func append(_ count: Int, of other: SpoolFile, at offset: Int) throws {
    var (offset, left) = (offset, count)
    while left > 0 {
      let part = min(left, buffer.count - buffered)
      try other.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[buffered..<(buffered + part)]), at: offset)
      offset += part
      left -= part
      try didFill(part)
    }
  }

  private func didFill(_ count: Int) throws {
    buffered += count
    guard buffered == buffer.count else { return }
    if let direct = directWriter() {
      buffer = try direct.write(buffer, at: written)
      written += buffered
      (buffered, begun) = (0, written)
    } else {
      try flush()
    }
  }

  /// The one for the next block, if that goes past the cache.
  private func directWriter() -> DirectWriter? {
    guard isKept, written >= cachedBytes, written.isMultiple(of: DirectWriter.alignment) else { return nil }
    if triesDirect {
      triesDirect = false
      direct = DirectWriter(descriptor, from: written, blockBytes: buffer.count)
    }
    return direct?.isUseful == true ? direct : nil
  }

  /// Writes what is in the buffer, and waits for what goes past the cache.
  package func flush() throws {
    try direct?.wait(until: written)
    try FileSystem.write(UnsafeRawBufferPointer(rebasing: buffer[..<buffered]), to: descriptor, at: written)
    written += buffered
    buffered = 0
    guard isKept, written - begun >= Self.writebackBytes else { return }
    csystem_begin_writeback(descriptor, Int64(begun), Int64(written - begun))
    begun = written
  }

  // MARK: - What was appended

  /// Fills a buffer with bytes that were appended before.
  package func read(into target: UnsafeMutableRawBufferPointer, at offset: Int) throws {
    let inFile = max(0, min(target.count, written - offset))
    if inFile > 0 {
      try direct?.wait(until: offset + inFile)
      let part = UnsafeMutableRawBufferPointer(rebasing: target[..<inFile])
      guard try FileSystem.read(descriptor, into: part, at: offset) == inFile else {
        throw FileSystem.SystemError(number: EIO)
      }
    }
    guard inFile < target.count else { return }
    let place = offset + inFile - written
    let count = target.count - inFile
    guard place + count <= buffered else { throw FileSystem.SystemError(number: EIO) }
    UnsafeMutableRawBufferPointer(rebasing: target[inFile...])
      .copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[place..<(place + count)]))
  }

  /// Replaces bytes before the end.
  package func overwrite(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
    let inFile = max(0, min(bytes.count, written - offset))
    if inFile > 0 {
      try direct?.wait(until: offset + inFile)
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
}

extension FileSystem.SystemError {
  /// There is not enough memory.
  package static let noMemory = FileSystem.SystemError(number: ENOMEM)
  /// Something is larger than its format allows.
  package static let tooLarge = FileSystem.SystemError(number: EFBIG)
}
