import Crypto

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

package enum Hexadecimal {
  /// Two digits a byte, in lower case.
  package static func text(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
