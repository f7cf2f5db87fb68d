import CWebP

/// Writes still WebP files through libwebp.
struct WebPEncoder {
  private let options: WebPOptions

  init(options: WebPOptions) {
    precondition((1...100).contains(options.quality), "libwebp has qualities up to 100")
    precondition((0...9).contains(options.effort), "libwebp has presets 0 to 9")
    self.options = options
  }

  /// Encodes straight RGBA8 pixels. Opaque pictures get no alpha channel.
  ///
  /// - Throws: ``ImageError`` of code `encodingFailed`: WebP ends at 16,383 pixels a side, or memory ran out.
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
