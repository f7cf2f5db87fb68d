import CZlib

/// Decompresses gzip (RFC 1952) and zlib streams (RFC 1950).
package enum Gunzip {
  /// Why a stream could not be decompressed.
  package enum Failure: Error { case damaged, tooLarge }

  /// The format of a stream, by its name as a content coding of HTTP (RFC 9110, section 8.4.1).
  package enum Packing: String, Sendable {
    case gzip
    /// The zlib format, which HTTP calls deflate.
    case deflate
  }

  /// The format of a stored vector tile; nil for one that is not compressed, which begins with the tag of a layer,
  /// 0x1a.
  package static func packing(_ bytes: UnsafeRawBufferPointer) -> Packing? {
    if isGzip(bytes) { return .gzip }
    // Deflate, a window of at most 32 kB, no dictionary, and the checksum of these two bytes (RFC 1950, section 2.2).
    guard bytes.count > 6, bytes[0] & 0x8f == 8, bytes[1] & 0x20 == 0, (Int(bytes[0]) << 8 | Int(bytes[1])) % 31 == 0
    else { return nil }
    return .deflate
  }

  /// True when bytes begin as a gzip stream does (RFC 1952, section 2.3.1).
  package static func isGzip(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count > 1 && bytes[0] == 0x1f && bytes[1] == 0x8b
  }

  /// - Parameters:
  ///   - byteCountMax: the most decompressed bytes; a larger stream is refused without holding more.
  ///   - packing: the format; others are refused.
  /// - Complexity: O(unpacked bytes).
  package static func bytes(
    _ packed: UnsafeRawBufferPointer, byteCountMax: Int, packing: Packing = .gzip
  ) throws(Failure) -> [UInt8] {
    guard let base = packed.baseAddress, packed.count > 0, packed.count <= 1 << 30 else { throw .damaged }
    var stream = z_stream()
    // 15 bits of window, and 16 for "gzip only".
    let windowBits: Int32 = packing == .gzip ? 15 + 16 : 15
    guard inflateInit2_(&stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      throw .tooLarge
    }
    defer { inflateEnd(&stream) }
    stream.next_in = UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: UInt8.self))
    stream.avail_in = UInt32(packed.count)

    var unpacked: [UInt8] = []
    let blockBytes = 32 << 10
    return try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: blockBytes) {
      block throws(Failure) -> [UInt8] in
      while true {
        stream.next_out = block.baseAddress
        stream.avail_out = UInt32(blockBytes)
        let status = inflate(&stream, Z_NO_FLUSH)
        let count = blockBytes - Int(stream.avail_out)
        guard unpacked.count + count <= byteCountMax else { throw .tooLarge }
        unpacked.append(contentsOf: block[..<count])
        switch status {
        case Z_OK: continue
        case Z_STREAM_END: return unpacked
        default: throw .damaged
        }
      }
    }
  }
}

/// Compresses bytes with gzip (RFC 1952).
package enum Gzip {
  /// Nil when zlib lacks memory.
  ///
  /// - Complexity: about 25 ns a byte.
  package static func compress(_ bytes: [UInt8]) -> [UInt8]? {
    var stream = z_stream()
    // 16 above the window's bits asks for gzip instead of zlib.
    guard
      deflateInit2_(
        &stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
        CInt(MemoryLayout<z_stream>.size)) == Z_OK
    else { return nil }
    defer { deflateEnd(&stream) }
    let capacity = Int(deflateBound(&stream, uLong(bytes.count)))
    var input = bytes
    var isWhole = false
    let output = [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
      input.withUnsafeMutableBufferPointer { input in
        stream.next_in = input.baseAddress
        stream.avail_in = uInt(input.count)
        stream.next_out = output.baseAddress
        stream.avail_out = uInt(capacity)
        isWhole = deflate(&stream, Z_FINISH) == Z_STREAM_END
        count = capacity - Int(stream.avail_out)
      }
    }
    return isWhole ? output : nil
  }
}
