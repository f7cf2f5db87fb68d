import Crypto
import Foundation

/// By what evidence is known again: its SHA-256.
package struct EvidenceDigest: Sendable {
  package let sha256: [UInt8]
  /// The header of a JWS with its point, kept once for many; empty for all other bytes.
  package let prefix: [UInt8]

  /// - Complexity: O(bytes).
  package init(_ bytes: [UInt8]) {
    var hasher = EvidenceHasher()
    self = hasher.digest(bytes)
  }

  fileprivate init(sha256: [UInt8], prefix: [UInt8]) {
    self.sha256 = sha256
    self.prefix = prefix
  }
}

/// Digests many pieces: three quarters of a signed transaction are its header, which is nearly always the last one's and is hashed once.
struct EvidenceHasher {
  private var prefix: [UInt8] = []
  private var prefixHash = SHA256()

  mutating func digest(_ bytes: [UInt8]) -> EvidenceDigest {
    bytes.withUnsafeBytes { bytes in
      let count = Self.headerCount(bytes)
      let header = UnsafeRawBufferPointer(rebasing: bytes[..<count])
      if count > 0, !isPrefix(header) {
        prefix = Array(header)
        prefixHash = SHA256()
        prefixHash.update(bufferPointer: header)
      }
      var hasher = count > 0 ? prefixHash : SHA256()
      hasher.update(bufferPointer: UnsafeRawBufferPointer(rebasing: bytes[count...]))
      return EvidenceDigest(sha256: Array(hasher.finalize()), prefix: count > 0 ? prefix : [])
    }
  }

  private func isPrefix(_ header: UnsafeRawBufferPointer) -> Bool {
    prefix.withUnsafeBytes { $0.count == header.count && memcmp($0.baseAddress!, header.baseAddress!, $0.count) == 0 }
  }

  /// The header of a compact JWS with its point, if it is long enough to be worth a row of its own.
  private static func headerCount(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard let start = bytes.baseAddress, bytes.count > 512, bytes[0] == UInt8(ascii: "e"),
      bytes[1] == UInt8(ascii: "y"),
      let point = memchr(start, Int32(UInt8(ascii: ".")), bytes.count).map({ UnsafeRawPointer($0) - start }),
      point > 256
    else { return 0 }
    return point + 1
  }
}
