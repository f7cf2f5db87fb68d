import CJPEGShim

/// Decodes whole JPEG files in memory, through libjpeg-turbo.
enum JPEGDecoder {
  /// Decodes grey, YCbCr, RGB, CMYK and YCCK images to opaque RGBA8.
  ///
  /// - Throws: ``ImageError``: `malformed` with libjpeg's words, also for what libjpeg only warns of although pixels are lost; `tooLarge`
  ///   when there are more pixels than allowed.
  static func decode(_ bytes: UnsafeRawBufferPointer, pixelCountMax: Int) throws(ImageError) -> PixelBuffer {
    let reader = try JPEGReaderHandle(bytes)
    let width = Int(reader.header.width)
    let height = Int(reader.header.height)
    try ImageError.check(width: width, height: height, pixelCountMax: pixelCountMax)
    try reader.start(memoryMax: 0)
    let pixels = PixelBuffer(width: width, height: height)
    try reader.readImage(into: pixels.bytes, rowBytes: pixels.rowBytes)
    return pixels
  }

  /// The size that the header states; the rest is not looked at.
  static func size(of bytes: UnsafeRawBufferPointer) throws(ImageError) -> (width: Int, height: Int) {
    let reader = try JPEGReaderHandle(bytes)
    return (Int(reader.header.width), Int(reader.header.height))
  }
}
