#if canImport(CryptoKit)
  import CryptoKit
#else
  import CNettle
#endif

/// SHA-256 (FIPS 180-4), computed piece by piece.
///
/// By CryptoKit on Apple's platforms and by nettle elsewhere, so that commands and apps which only need hashes do not
/// build a cryptography package. Both use the processor's SHA instructions.
package struct SHA256Hash {
  #if canImport(CryptoKit)
    private var state = SHA256()
  #else
    private var state = sha256_ctx()
  #endif

  package init() {
    #if !canImport(CryptoKit)
      nettle_sha256_init(&state)
    #endif
  }

  /// nettle's version; nil with CryptoKit.
  package static var libraryVersion: String? {
    #if canImport(CryptoKit)
      nil
    #else
      "\(nettle_version_major()).\(nettle_version_minor())"
    #endif
  }

  /// - Complexity: O(bytes).
  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    #if canImport(CryptoKit)
      state.update(bufferPointer: UnsafeRawBufferPointer(start: start, count: bytes.count))
    #else
      nettle_sha256_update(&state, bytes.count, start.assumingMemoryBound(to: UInt8.self))
    #endif
  }

  package mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// The 32 bytes of the hash. The state is not changed, so more bytes may follow.
  package func digest() -> [UInt8] {
    #if canImport(CryptoKit)
      return Array(state.finalize())
    #else
      var copy = state
      return [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_SIZE)) { buffer, count in
        nettle_sha256_digest(&copy, Int(SHA256_DIGEST_SIZE), buffer.baseAddress)
        count = Int(SHA256_DIGEST_SIZE)
      }
    #endif
  }

  /// The hash of `bytes`: 32 bytes.
  package static func digest(of bytes: [UInt8]) -> [UInt8] {
    var hash = SHA256Hash()
    hash.update(bytes)
    return hash.digest()
  }
}
