import Crypto
import Support
import TileIndex

/// SHA-256 of a file, or of a part of one, from what the disk has now.
enum FileDigest {
  private static let chunk = 1 << 18

  /// - Returns: 64 hexadecimal digits in lower case; nil where the file is not there or too short.
  /// - Throws: `FileSystem.SystemError` when it cannot be read.
  static func sha256(_ path: String, _ range: Range<Int>? = nil) throws -> String? {
    let file: ReadOnlyFile
    do {
      file = try ReadOnlyFile(path)
    } catch let error as FileSystem.SystemError where error.isMissing {
      return nil
    } catch is ReadOnlyFile.NotAFile {
      return nil
    }
    return try sha256(file, range ?? 0..<file.byteCount)
  }

  static func sha256(_ file: ReadOnlyFile, _ range: Range<Int>) throws -> String? {
    var hash = SHA256()
    var offset = range.lowerBound
    while offset < range.upperBound {
      let bytes = try file.bytes(at: offset, count: min(chunk, range.upperBound - offset))
      guard !bytes.isEmpty else { return nil }
      hash.update(data: bytes)
      offset += bytes.count
    }
    return Hexadecimal.text(hash.finalize())
  }
}
