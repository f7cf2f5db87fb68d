import CPNGShim

/// Decodes whole PNG files in memory, through libpng.
enum PNGDecoder {
  /// Decodes any colour type, bit depth and interlacing to straight RGBA8. 16-bit samples are scaled down, rounded to the nearest; tRNS
  /// is honoured; gamma and colour profiles are ignored.
  ///
  /// - Throws: ``ImageError``: `malformed` with libpng's words, `tooLarge` when there are more pixels than allowed.
  static func decode(_ bytes: UnsafeRawBufferPointer, pixelCountMax: Int) throws(ImageError) -> PixelBuffer {
    let reader = try PNGReaderHandle(bytes)
    let width = Int(reader.header.width)
    let height = Int(reader.header.height)
    try ImageError.check(width: width, height: height, pixelCountMax: pixelCountMax)
    _ = try reader.start(PNG_SHIM_RGBA8)
    let pixels = PixelBuffer(width: width, height: height)
    try reader.readImage(into: pixels.bytes, rowBytes: pixels.rowBytes)
    let hasAlpha = reader.header.colour_type & 4 != 0 || reader.header.has_transparency_chunk != 0
    if hasAlpha { pixels.clearTransparentPixels() }
    return pixels
  }

  /// The size that the header states; the rest is not looked at.
  static func size(of bytes: UnsafeRawBufferPointer) throws(ImageError) -> (width: Int, height: Int) {
    let ihdr: [UInt8] = [0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
    guard bytes.count >= 24, bytes[8..<16].elementsEqual(ihdr) else {
      throw ImageError(.malformed, "PNG: the header is missing")
    }
    let width = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
    let height = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 20, as: UInt32.self))
    return (Int(width), Int(height))
  }
}
