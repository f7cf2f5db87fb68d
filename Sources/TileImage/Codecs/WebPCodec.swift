import CWebP

/// Options for WebP tiles.
public struct WebPOptions: Hashable, Sendable {
  /// True for the lossless codec; false for the lossy one, which halves the resolution of colours.
  package var lossless: Bool
  /// The lossy codec's quality, 1 to 100; ignored for lossless tiles.
  package var quality: Int
  /// libwebp's effort, 0 (fastest) to 9 (smallest): the preset of the lossless codec. The lossy one has 0 to 6.
  package var effort: Int

  /// Options; `quality` from 1 to 100, `effort` from 0 to 9.
  public init(lossless: Bool = true, quality: Int = 85, effort: Int = 4) {
    self.lossless = lossless
    self.quality = quality
    self.effort = effort
  }
}

/// Writes still WebP files through libwebp.
struct WebPEncoder {
  private let options: WebPOptions

  init(options: WebPOptions) {
    precondition((1...100).contains(options.quality), "libwebp has qualities up to 100")
    precondition((0...9).contains(options.effort), "libwebp has presets 0 to 9")
    self.options = options
  }

  /// Encodes straight RGBA8 pixels. Opaque images get no alpha channel.
  ///
  /// - Throws: ``ImageError`` of code `encodingFailed`: WebP has at most 16,383 pixels per side, or memory ran out.
  func encode(_ pixels: PixelBuffer) throws(ImageError) -> [UInt8] {
    let sides = 1...Int(WEBP_MAX_DIMENSION)
    guard sides.contains(pixels.width) && sides.contains(pixels.height) else {
      throw ImageError(.encodingFailed, "WebP has no images of \(pixels.width) x \(pixels.height) pixels")
    }
    var config = try config()
    var picture = WebPPicture()
    guard WebPPictureInit(&picture) != 0 else { throw Self.otherVersion }
    defer { WebPPictureFree(&picture) }
    picture.width = Int32(pixels.width)
    picture.height = Int32(pixels.height)
    picture.use_argb = options.lossless ? 1 : 0
    let source = pixels.bytes.assumingMemoryBound(to: UInt8.self)
    guard WebPPictureImportRGBA(&picture, source, Int32(pixels.rowBytes)) != 0 else { throw Self.failure(of: picture) }
    var writer = WebPMemoryWriter()
    WebPMemoryWriterInit(&writer)
    defer { WebPMemoryWriterClear(&writer) }
    let succeeded = withUnsafeMutablePointer(to: &writer) { writer in
      picture.writer = WebPMemoryWrite
      picture.custom_ptr = UnsafeMutableRawPointer(writer)
      return WebPEncode(&config, &picture) != 0
    }
    guard succeeded else { throw Self.failure(of: picture) }
    return [UInt8](UnsafeRawBufferPointer(start: writer.mem, count: writer.size))
  }

  private func config() throws(ImageError) -> WebPConfig {
    var config = WebPConfig()
    guard WebPConfigInit(&config) != 0 else { throw Self.otherVersion }
    if options.lossless {
      guard WebPConfigLosslessPreset(&config, Int32(options.effort)) != 0 else { throw Self.otherVersion }
    } else {
      config.quality = Float(options.quality)
      config.method = Int32(min(options.effort, 6))
    }
    return config
  }

  private static let otherVersion = ImageError(.encodingFailed, "WebP: another version of libwebp")

  private static func failure(of picture: WebPPicture) -> ImageError {
    switch picture.error_code {
    case VP8_ENC_ERROR_OUT_OF_MEMORY, VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY:
      ImageError(.encodingFailed, "WebP: out of memory")
    default: ImageError(.encodingFailed, "WebP: libwebp's error \(picture.error_code.rawValue)")
    }
  }
}

// MARK: - Decoding

/// Decodes whole WebP files in memory, through libwebp.
enum WebPDecoder {
  /// Decodes lossy and lossless still images to straight RGBA8.
  ///
  /// - Throws: ``ImageError``: `malformed` with libwebp's message, `unsupported` for animations, `tooLarge` when there
  ///   are more pixels than allowed.
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

  /// The size in the header; the rest is not read.
  static func size(of bytes: UnsafeRawBufferPointer) throws(ImageError) -> (width: Int, height: Int) {
    let features = try features(of: bytes)
    return (Int(features.width), Int(features.height))
  }

  /// The size, and whether there is an alpha channel; the rest is not read.
  static func header(
    of bytes: UnsafeRawBufferPointer
  ) throws(ImageError) -> (width: Int, height: Int, hasAlpha: Bool) {
    let features = try features(of: bytes)
    if features.has_animation != 0 { throw ImageError(.unsupported, "WebP: an animation") }
    return (Int(features.width), Int(features.height), features.has_alpha != 0)
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

extension ImageDecoder {
  /// The size of a still WebP image and whether it has an alpha channel, from its header alone.
  ///
  /// - Throws: ``ImageError``: `malformed`; `unsupported` for animations.
  package static func webPHeader(
    _ bytes: UnsafeRawBufferPointer
  ) throws(ImageError) -> (width: Int, height: Int, hasAlpha: Bool) {
    try WebPDecoder.header(of: bytes)
  }
}
