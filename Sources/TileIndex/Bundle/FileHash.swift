import Crypto
import Support

/// The SHA-256 of a whole file, as downloads are checked with.
package enum FileHash {
  /// - Returns: 64 hexadecimal digits in lower case.
  /// - Throws: ``BundleError`` with `.notFound` or `.readFailed`.
  /// - Complexity: O(bytes), a quarter of a megabyte at a time.
  package static func sha256(ofFile path: String) throws -> String {
    do {
      let file = try ReadOnlyFile(path)
      var hash = SHA256()
      var offset = 0
      while offset < file.byteCount {
        let bytes = try file.bytes(at: offset, count: min(1 << 18, file.byteCount - offset))
        guard !bytes.isEmpty else { break }
        hash.update(data: bytes)
        offset += bytes.count
      }
      return Hexadecimal.text(hash.finalize())
    } catch let error as FileSystem.SystemError {
      throw BundleError.unopened(error, path: path)
    } catch is ReadOnlyFile.NotAFile {
      throw BundleError(.notFound, path: path, "is not a plain file", remedy: "name a file")
    }
  }
}
