import CSystemShim
import Support

/// A file that can be read without ever waiting for a disk, and whose bytes are all of one edition.
final class ResidentFile: ByteSource {
  /// What was asked for is not in the system's page cache.
  struct WouldWait: Error {}

  private let file: ReadOnlyFile
  private let unchanged: UnchangedFile
  /// A file system in memory never waits, and knows no read that must not.
  private let isInMemory: Bool
  /// Whether reads may wait. To be changed by the thread that has the reader.
  var mayWait = true

  /// - Throws: ``BundleError`` with `.busy` while another program writes the file.
  init(_ file: ReadOnlyFile, path: String) throws {
    self.file = file
    unchanged = try UnchangedFile(file.descriptor, path: path)
    guard ChangingFiles.admits(unchanged.signature, path) else { throw BundleError.beingWritten(path) }
    isInMemory = csystem_is_memory(file.descriptor) == 1
  }

  /// False where the system has no read that never waits.
  var canReadResident: Bool { isInMemory || csystem_can_read_resident() == 1 }
  var byteCount: Int { unchanged.signature.bytes }

  /// - Throws: ``FileSystem/SystemError``; ``WouldWait`` unless ``mayWait``; ``BundleError`` with `.changed`.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
    let count = try readUnchecked(into: buffer, at: offset)
    try unchanged.check()
    return count
  }

  private func readUnchecked(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
    guard !mayWait, !isInMemory, let base = buffer.baseAddress else { return try file.read(into: buffer, at: offset) }
    // A short count is the end of the file or of its cached part; a blocking read finds out which.
    guard canReadResident, csystem_read_resident(file.descriptor, base, buffer.count, Int64(offset)) == buffer.count
    else { throw WouldWait() }
    return buffer.count
  }
}
