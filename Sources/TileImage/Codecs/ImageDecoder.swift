import CZlib
public import TileIndex

/// Decodes PNG, JPEG and WebP images in memory.
public enum ImageDecoder {
  /// The default limit of ``decode(_:format:pixelCountMax:)``: 4096 x 4096 pixels.
  public static let pixelCountMax = 1 << 24

  /// Decodes an image to straight RGBA8.
  ///
  /// Supports any PNG (16-bit samples are scaled down, rounded to the nearest; tRNS is applied), JPEG (grey, YCbCr,
  /// RGB, CMYK, YCCK) and still WebP. Gamma and colour profiles are ignored. Transparent pixels are all zero, whatever
  /// colour the file gives them.
  ///
  /// - Parameters:
  ///   - format: the expected format; nil to detect it from the first bytes.
  ///   - pixelCountMax: larger images are rejected before memory is allocated for them.
  /// - Throws: ``ImageError``: `malformed` with the codec's message when the bytes are damaged or truncated,
  ///   `tooLarge`, `unsupported`.
  public static func decode(
    _ bytes: UnsafeRawBufferPointer, format: TileFormat? = nil, pixelCountMax: Int = pixelCountMax
  ) throws(ImageError) -> PixelBuffer {
    switch try imageFormat(of: bytes, expected: format) {
    case .png: try PNGDecoder.decode(bytes, pixelCountMax: pixelCountMax)
    case .jpg: try JPEGDecoder.decode(bytes, pixelCountMax: pixelCountMax)
    case .webp: try WebPDecoder.decode(bytes, pixelCountMax: pixelCountMax)
    case .pbf: throw ImageError(.unsupported, "vector tiles are no images")
    }
  }

  /// The image's width and height in pixels, from its header alone.
  ///
  /// - Throws: ``ImageError``: `malformed` or `unsupported`.
  public static func size(
    of bytes: UnsafeRawBufferPointer, format: TileFormat? = nil
  ) throws(ImageError) -> (width: Int, height: Int) {
    switch try imageFormat(of: bytes, expected: format) {
    case .png: try PNGDecoder.size(of: bytes)
    case .jpg: try JPEGDecoder.size(of: bytes)
    case .webp: try WebPDecoder.size(of: bytes)
    case .pbf: throw ImageError(.unsupported, "vector tiles are no images")
    }
  }

  private static func imageFormat(
    of bytes: UnsafeRawBufferPointer, expected: TileFormat?
  ) throws(ImageError) -> TileFormat {
    if bytes.isEmpty { throw ImageError(.malformed, "no data") }
    guard let found = TileFormat(sniffing: bytes) else {
      throw ImageError(expected == nil ? .unsupported : .malformed, "neither PNG nor JPEG nor WebP, by the first bytes")
    }
    if let expected, expected != found {
      throw ImageError(.malformed, "\(found.rawValue) data where \(expected.rawValue) was expected")
    }
    return found
  }
}

extension ImageDecoder {
  /// Decodes a tile completely to check that it is valid; for ``BundleVerifier``.
  ///
  /// - Returns: the image's size in pixels; nil for vector tiles, of which only the compression is checked.
  /// - Throws: ``ImageError`` with the codec's message.
  public static func check(_ bytes: UnsafeRawBufferPointer, format: TileFormat) throws -> (width: Int, height: Int)? {
    guard format != .pbf else {
      _ = try GzipCheck.verify(bytes)
      return nil
    }
    let pixels = try decode(bytes, format: format)
    return (pixels.width, pixels.height)
  }
}

/// Checks gzip streams (RFC 1952), in which vector tiles are compressed, without keeping the content.
public enum GzipCheck {
  /// The default limit of ``verify(_:byteCountMax:)`` for uncompressed bytes, far above any real tile.
  public static let byteCountMax = 256 << 20

  /// Inflates all members of the stream, and checks their checksums and lengths.
  ///
  /// - Returns: the number of uncompressed bytes.
  /// - Throws: ``ImageError``: `malformed` with zlib's message when the data are damaged, truncated or followed by
  ///   other data; `tooLarge` when there are more than `byteCountMax` uncompressed bytes.
  /// - Complexity: O(uncompressed bytes) time, 64 kB of memory.
  public static func verify(
    _ bytes: UnsafeRawBufferPointer, byteCountMax: Int = byteCountMax
  ) throws(ImageError) -> Int {
    guard let base = bytes.baseAddress, bytes.count > 0 else { throw ImageError(.malformed, "gzip: no data") }
    var stream = z_stream()
    // A window of 15 bits, plus 16 for the gzip format only.
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
      // zlib's input count has 32 bits.
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
        // Another member may follow; other data fail at its header.
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
