public import TileIndex

/// Decodes PNG, JPEG and WebP images in memory.
public enum ImageDecoder {
  /// Pixels that ``decode(_:format:pixelCountMax:)`` allows unless told otherwise: 4096 x 4096.
  public static let pixelCountMax = 1 << 24

  /// Decodes an image to straight RGBA8.
  ///
  /// Any PNG (16-bit samples scaled down, rounded to the nearest; tRNS honoured), JPEG (grey, YCbCr, RGB, CMYK, YCCK) or still WebP.
  /// Gamma and colour profiles are ignored. Transparent pixels are all zero, whatever colour the file gives them.
  ///
  /// - Parameters:
  ///   - format: what the bytes must be; nil to tell from their first bytes.
  ///   - pixelCountMax: larger images are refused before memory is taken for them.
  /// - Throws: ``ImageError``: `malformed` with the codec's words when the bytes are damaged or end early, `tooLarge`, `unsupported`.
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
