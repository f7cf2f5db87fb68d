import CWebP

/// Decodes whole WebP files in memory, through libwebp.
enum WebPDecoder {
  /// Decodes lossy and lossless still images to straight RGBA8.
  ///
  /// - Throws: ``ImageError``: `malformed` in libwebp's words, `unsupported` for animations, `tooLarge` when there are more pixels than allowed.
  static func decode(_ bytes: UnsafeRawBufferPointer, pixelCountMax: Int) throws(ImageError) -> PixelBuffer {
    let features = try features(of: bytes)
    let width = Int(features.width)
    let height = Int(features.height)
    try ImageError.check(width: width, height: height, pixelCountMax: pixelCountMax)
    if features.has_animation != 0 { throw ImageError(.unsupported, "WebP: an animation") }
    var config = WebPDecoderConfig()
    guard WebPInitDecoderConfig(&config) != 0 else {
      throw ImageError(.unsupported, "WebP: another version of libwebp")
    }
    let pixels = PixelBuffer(width: width, height: height)
    config.output.colorspace = MODE_RGBA
    config.output.is_external_memory = 1
    config.output.u.RGBA.rgba = pixels.bytes.assumingMemoryBound(to: UInt8.self)
    config.output.u.RGBA.stride = Int32(pixels.rowBytes)
    config.output.u.RGBA.size = pixels.byteCount
    let status = WebPDecode(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, &config)
    WebPFreeDecBuffer(&config.output)
    try check(status)
    if features.has_alpha != 0 { pixels.clearTransparentPixels() }
    return pixels
  }

  /// The size that the header states; the rest is not looked at.
  static func size(of bytes: UnsafeRawBufferPointer) throws(ImageError) -> (width: Int, height: Int) {
    let features = try features(of: bytes)
    return (Int(features.width), Int(features.height))
  }

  private static func features(of bytes: UnsafeRawBufferPointer) throws(ImageError) -> WebPBitstreamFeatures {
    var features = WebPBitstreamFeatures()
    try check(WebPGetFeatures(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, &features))
    return features
  }

  private static func check(_ status: VP8StatusCode) throws(ImageError) {
    switch status {
    case VP8_STATUS_OK: return
    case VP8_STATUS_OUT_OF_MEMORY: throw ImageError(.tooLarge, "WebP: out of memory")
    case VP8_STATUS_UNSUPPORTED_FEATURE: throw ImageError(.unsupported, "WebP: unsupported feature")
    case VP8_STATUS_NOT_ENOUGH_DATA, VP8_STATUS_SUSPENDED: throw ImageError(.malformed, "WebP: the data end early")
    default: throw ImageError(.malformed, "WebP: bitstream error")
    }
  }
}
