import CZlib

/// Checks gzip streams (RFC 1952), the wrapping of vector tiles, without keeping what is inside.
public enum GzipCheck {
  /// Uncompressed bytes that ``verify(_:byteCountMax:)`` allows unless told otherwise: far above any honest tile.
  public static let byteCountMax = 256 << 20

  /// Inflates the whole stream, all members of it, and checks their checksums and lengths.
  ///
  /// - Returns: the number of uncompressed bytes.
  /// - Throws: ``ImageError``: `malformed` in zlib's words when the data are damaged, end early or are followed by other data;
  ///   `tooLarge` when more than `byteCountMax` bytes come out.
  /// - Complexity: O(uncompressed bytes) time, 64 kB of memory.
  public static func verify(
    _ bytes: UnsafeRawBufferPointer, byteCountMax: Int = byteCountMax
  ) throws(ImageError) -> Int {
    guard let base = bytes.baseAddress, bytes.count > 0 else { throw ImageError(.malformed, "gzip: no data") }
    var stream = z_stream()
    // 15 bits of window, and 16 for "gzip only".
    guard inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      throw ImageError(.tooLarge, "gzip: no memory")
    }
    defer { inflateEnd(&stream) }
    let blockBytes = 64 * 1024
    let block = UnsafeMutablePointer<UInt8>.allocate(capacity: blockBytes)
    defer { block.deallocate() }

    var given = 0
    var total = 0
    stream.next_in = UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: UInt8.self))
    while true {
      // zlib counts input in 32 bits.
      if stream.avail_in == 0 {
        let piece = min(bytes.count - given, 1 << 30)
        stream.avail_in = UInt32(piece)
        given += piece
      }
      stream.next_out = block
      stream.avail_out = UInt32(blockBytes)
      let status = inflate(&stream, Z_NO_FLUSH)
      total += blockBytes - Int(stream.avail_out)
      if total > byteCountMax { throw ImageError(.tooLarge, "gzip: more than \(byteCountMax) bytes uncompressed") }
      switch status {
      case Z_OK: continue
      case Z_STREAM_END:
        if stream.avail_in == 0 && given == bytes.count { return total }
        // Another member may follow; anything else fails on its header.
        inflateReset(&stream)
      case Z_BUF_ERROR where given == bytes.count: throw ImageError(.malformed, "gzip: the data end early")
      case Z_BUF_ERROR: continue
      case Z_MEM_ERROR: throw ImageError(.tooLarge, "gzip: no memory")
      default:
        throw ImageError(.malformed, "gzip: \(stream.msg.map { String(cString: $0) } ?? "error \(status)")")
      }
    }
  }
}
