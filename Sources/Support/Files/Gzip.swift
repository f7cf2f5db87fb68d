import CZlib

/// Decompresses gzip (RFC 1952) and zlib streams (RFC 1950).
package enum Gunzip {
  /// Why a stream could not be decompressed.
  package enum Failure: Error, Hashable, CustomStringConvertible {
    /// The stream is damaged, ends early, or is followed by other data. With zlib's message, if it has one.
    case damaged(String)
    /// The stream has more than this number of decompressed bytes.
    case tooLarge(byteCountMax: Int)
    case noMemory

    package var description: String {
      switch self {
      case .damaged(let message): message
      case .tooLarge(let byteCountMax): "more than \(byteCountMax) bytes uncompressed"
      case .noMemory: "no memory"
      }
    }
  }

  /// The format of a stream, by its name as a content coding of HTTP (RFC 9110, section 8.4.1).
  package enum Packing: String, Sendable {
    case gzip
    /// The zlib format, which HTTP calls deflate.
    case deflate

    /// What zlib takes for the format: 15 bits of window, and 16 for "gzip only".
    fileprivate var windowBits: Int32 { self == .gzip ? 15 + 16 : 15 }
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

  /// The decompressed bytes of a stream.
  ///
  /// - Parameters:
  ///   - byteCountMax: the most decompressed bytes; a larger stream is refused without holding more.
  ///   - packing: the format; others are refused.
  /// - Complexity: O(decompressed bytes).
  package static func bytes(
    _ packed: UnsafeRawBufferPointer, byteCountMax: Int, packing: Packing = .gzip
  ) throws(Failure) -> [UInt8] {
    var unpacked: [UInt8] = []
    _ = try inflateStream(packed, byteCountMax: byteCountMax, packing) { unpacked.append(contentsOf: $0) }
    return unpacked
  }

  /// The first decompressed bytes of a gzip stream; fewer where it ends or is damaged.
  ///
  /// - Complexity: O(1).
  package static func head(_ packed: UnsafeRawBufferPointer, byteCount: Int) -> [UInt8] {
    guard let base = packed.baseAddress else { return [] }
    var stream = z_stream()
    guard
      inflateInit2_(&stream, Packing.gzip.windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { return [] }
    defer { inflateEnd(&stream) }
    stream.next_in = UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: UInt8.self))
    stream.avail_in = UInt32(min(packed.count, 1 << 16))
    return [UInt8](unsafeUninitializedCapacity: byteCount) { head, count in
      stream.next_out = head.baseAddress
      stream.avail_out = UInt32(byteCount)
      _ = inflate(&stream, Z_SYNC_FLUSH)
      count = byteCount - Int(stream.avail_out)
    }
  }

  /// Checks a stream with its checksums and lengths, without keeping its content.
  ///
  /// - Returns: the number of decompressed bytes.
  /// - Complexity: O(decompressed bytes) time, 32 kB of memory.
  package static func check(
    _ packed: UnsafeRawBufferPointer, byteCountMax: Int, packing: Packing = .gzip
  ) throws(Failure) -> Int {
    try inflateStream(packed, byteCountMax: byteCountMax, packing) { _ in }
  }

  /// Decompresses block by block. A gzip stream may have several members (RFC 1952, section 2.2).
  private static func inflateStream(
    _ packed: UnsafeRawBufferPointer, byteCountMax: Int, _ packing: Packing,
    _ take: (UnsafeMutableBufferPointer<UInt8>.SubSequence) -> Void
  ) throws(Failure) -> Int {
    guard let base = packed.baseAddress, packed.count > 0 else { throw .damaged("no data") }
    var stream = z_stream()
    guard inflateInit2_(&stream, packing.windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      throw .noMemory
    }
    defer { inflateEnd(&stream) }
    stream.next_in = UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: UInt8.self))

    var given = 0
    var total = 0
    let blockBytes = 32 << 10
    return try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: blockBytes) { block throws(Failure) -> Int in
      while true {
        // zlib's input count has 32 bits.
        if stream.avail_in == 0 {
          let count = min(packed.count - given, 1 << 30)
          stream.avail_in = UInt32(count)
          given += count
        }
        stream.next_out = block.baseAddress
        stream.avail_out = UInt32(blockBytes)
        let status = inflate(&stream, Z_NO_FLUSH)
        let count = blockBytes - Int(stream.avail_out)
        total += count
        guard total <= byteCountMax else { throw .tooLarge(byteCountMax: byteCountMax) }
        take(block[..<count])
        switch status {
        case Z_OK: continue
        case Z_STREAM_END:
          if stream.avail_in == 0 && given == packed.count { return total }
          guard packing == .gzip else { throw .damaged("other data follow") }
          // Another member follows; other data fail at its header.
          inflateReset(&stream)
        case Z_BUF_ERROR where given == packed.count: throw .damaged("the data end early")
        case Z_BUF_ERROR: continue
        case Z_MEM_ERROR: throw .noMemory
        default: throw .damaged(stream.msg.map { String(cString: $0) } ?? "error \(status)")
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
