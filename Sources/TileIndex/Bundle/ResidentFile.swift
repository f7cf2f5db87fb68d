import CSystemShim
import Support

/// A file that can be read without ever waiting for a disk.
final class ResidentFile: ByteSource {
  /// What was asked for is not in the system's page cache.
  struct WouldWait: Error {}

  private let file: ReadOnlyFile
  /// A file system in memory never waits, and knows no read that must not.
  private let isInMemory: Bool
  /// Whether reads may wait. To be changed by the thread that has the reader.
  var mayWait = true

  init(_ file: ReadOnlyFile) {
    self.file = file
    isInMemory = csystem_is_memory(file.descriptor) == 1
  }

  /// Nil where the system has no read that never waits.
  var descriptor: Int32? { isInMemory || csystem_can_read_resident() == 1 ? file.descriptor : nil }
  var byteCount: Int { file.byteCount }

  /// - Throws: ``FileSystem/SystemError``; ``WouldWait`` unless ``mayWait``.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
    guard !mayWait, !isInMemory, let base = buffer.baseAddress else { return try file.read(into: buffer, at: offset) }
    // A short count is the end of the file or of its cached part; a blocking read finds out which.
    guard descriptor != nil, csystem_read_resident(file.descriptor, base, buffer.count, Int64(offset)) == buffer.count
    else { throw WouldWait() }
    return buffer.count
  }
}
