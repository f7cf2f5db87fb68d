import LibC
import Support

/// An unlinked temporary file. The system frees its space when the process ends, however it ends.
final class ScratchFile: Sendable {
  let descriptor: Int32
  private let directory: String

  /// - Throws: ``CutError`` `.unwritableOutput` naming the directory.
  init(directory: String) throws {
    self.directory = directory
    var template = SystemPath.bytes("\(directory)/.tilecut-XXXXXX").map { CChar(bitPattern: $0) } + [0]
    descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw Self.failure(directory, "cannot hold a scratch file", errno) }
    unlink(template)
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// - Throws: ``CutError`` `.unwritableOutput` if the disk is full or fails.
  func write(_ bytes: UnsafeRawPointer, count: Int, at offset: Int) throws {
    do throws(FileSystem.SystemError) {
      try FileSystem.write(UnsafeRawBufferPointer(start: bytes, count: count), to: descriptor, at: offset)
    } catch {
      throw Self.failure(directory, "has no room to spool a raster", error.number)
    }
  }

  /// - Throws: ``CutError`` `.unwritableOutput` if the disk fails or the bytes were never written.
  func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) throws {
    do throws(FileSystem.SystemError) {
      let buffer = UnsafeMutableRawBufferPointer(start: target, count: count)
      let done = try FileSystem.read(descriptor, into: buffer, at: offset)
      guard done == count else { throw FileSystem.SystemError(number: EIO) }
    } catch {
      throw Self.failure(directory, "lost a spooled raster", error.number)
    }
  }

  private static func failure(_ directory: String, _ what: String, _ code: Int32) -> CutError {
    CutError(
      .unwritableOutput, path: directory, "\(what): \(FileSystem.SystemError(number: code))",
      remedy: "make room there, or name another directory in TMPDIR")
  }
}
