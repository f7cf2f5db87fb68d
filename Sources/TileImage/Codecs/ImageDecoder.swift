import Support
public import TileIndex

/// Decodes PNG, JPEG and WebP images in memory; a value of it decodes the tiles of a map view:
/// `MapSession(bundle: bundle, budget: 64 << 20, decoder: ImageDecoder())`.
public struct ImageDecoder: TileDecoder {
  /// A decoder without settings.
  public init() {}

  /// The tile as straight RGBA8, at most ``pixelCountMax`` pixels of it.
  ///
  /// - Throws: ``ImageError`` as ``decode(_:format:pixelCountMax:)``.
  public func decode(_ bytes: [UInt8]) throws -> (PixelBuffer, byteCount: Int) {
    let pixels = try bytes.withUnsafeBytes { try Self.decode($0) }
    return (pixels, byteCount: pixels.byteCount)
  }

  /// The default limit of ``decode(_:format:pixelCountMax:)``: 4096 x 4096 pixels.
  public static let pixelCountMax = ImageHeader.pixelCountMax

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

  /// The image's size, and the memory that ``decode(_:format:pixelCountMax:)`` takes for it, from its header alone: the
  /// pixels and what the codec holds beside them.
  ///
  /// - Throws: ``ImageError``: `tooLarge` as decoding would, `malformed` or `unsupported`.
  package static func need(
    of bytes: UnsafeRawBufferPointer, format: TileFormat? = nil
  ) throws(ImageError) -> (width: Int, height: Int, byteCount: Int) {
    let format = try imageFormat(of: bytes, expected: format)
    let (width, height) = try size(of: bytes, format: format)
    try ImageError.check(width: width, height: height, pixelCountMax: pixelCountMax)
    let pixels = width * height * 4
    let beside: Int
    switch format {
    case .png, .pbf: beside = 0
    case .jpg: beside = try JPEGDecoder.workingBytes(of: bytes)
    // The lossless codec makes a second picture.
    case .webp: beside = pixels
    }
    return (width, height, pixels + beside)
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
  /// Decodes a tile completely to check that it is valid; for the `BundleVerifier` of TileIndex.
  ///
  /// - Returns: the image's size in pixels; nil for vector tiles, of which only the compression is checked.
  /// - Throws: ``ImageError`` with the codec's message.
  package static func check(_ bytes: UnsafeRawBufferPointer, format: TileFormat) throws -> (width: Int, height: Int)? {
    guard format != .pbf else {
      _ = try GzipCheck.verify(bytes)
      return nil
    }
    let pixels = try decode(bytes, format: format)
    return (pixels.width, pixels.height)
  }
}

/// Checks gzip streams (RFC 1952), in which vector tiles are compressed, without keeping the content.
package enum GzipCheck {
  /// The default limit of ``verify(_:byteCountMax:)`` for uncompressed bytes, far above any real tile.
  package static let byteCountMax = 256 << 20

  /// Inflates all members of the stream, and checks their checksums and lengths.
  ///
  /// - Returns: the number of uncompressed bytes.
  /// - Throws: ``ImageError``: `malformed` with zlib's message when the data are damaged, truncated or followed by
  ///   other data; `tooLarge` when there are more than `byteCountMax` uncompressed bytes.
  /// - Complexity: O(uncompressed bytes) time, 32 kB of memory.
  package static func verify(
    _ bytes: UnsafeRawBufferPointer, byteCountMax: Int = byteCountMax
  ) throws(ImageError) -> Int {
    do {
      return try Gunzip.check(bytes, byteCountMax: byteCountMax)
    } catch {
      if case .damaged = error { throw ImageError(.malformed, "gzip: \(error)") }
      throw ImageError(.tooLarge, "gzip: \(error)")
    }
  }
}
