import CJPEGShim

/// Options for JPEG tiles.
public struct JPEGOptions: Hashable, Sendable {
  /// libjpeg's quality, 1 to 100. Above 90 colours keep their full resolution (4:4:4); up to 90 it is halved (4:2:0).
  public var quality: Int
  /// The colour behind pixels that are not opaque, because JPEG has no transparency. Its alpha is ignored.
  package var background: RGBA

  /// Options; `quality` from 1 to 100.
  public init(quality: Int = 85, background: RGBA = .white) {
    self.quality = quality
    self.background = background
  }
}

/// Writes baseline JPEG files through libjpeg-turbo, with Huffman tables optimised for each tile. One instance per
/// worker: it reuses buffers.
final class JPEGEncoder {
  private let options: JPEGOptions
  private var output = jpeg_shim_buffer()
  private var flattened: PixelBuffer?

  init(options: JPEGOptions) {
    precondition((1...100).contains(options.quality), "libjpeg has qualities 1 to 100")
    self.options = options
  }

  deinit { jpeg_shim_free(&output) }

  /// Encodes straight RGBA8 pixels, composited over the background where they are not opaque.
  ///
  /// - Throws: ``ImageError`` of code `encodingFailed`, with libjpeg's message: JPEG has at most 65,500 pixels per
  ///   side.
  func encode(_ pixels: PixelBuffer) throws(ImageError) -> [UInt8] {
    // libjpeg's sizes have 32 bits. It rejects sizes above 65,500 and 0 itself.
    let limit = Int(Int32.max)
    guard pixels.width <= limit && pixels.height <= limit else {
      throw ImageError(.encodingFailed, "JPEG has no images of \(pixels.width) x \(pixels.height) pixels")
    }
    let source = pixels.opacity == .opaque ? pixels : flatten(pixels)
    var message = [CChar](repeating: 0, count: 200)
    let failure = message.withUnsafeMutableBufferPointer { message in
      jpeg_shim_encode(
        source.bytes, UInt32(source.width), UInt32(source.height), source.rowBytes, Int32(options.quality),
        options.quality > 90 ? 1 : 0, &output, message.baseAddress
      ).map { String(cString: $0) }
    }
    if let failure { throw ImageError(.encodingFailed, "JPEG: \(failure)") }
    return [UInt8](UnsafeRawBufferPointer(start: output.bytes, count: output.count))
  }

  private func flatten(_ pixels: PixelBuffer) -> PixelBuffer {
    let copy: PixelBuffer
    if let kept = flattened, kept.width == pixels.width, kept.height == pixels.height {
      copy = kept
    } else {
      copy = PixelBuffer(width: pixels.width, height: pixels.height)
      flattened = copy
    }
    copy.copy(from: pixels)
    copy.composite(over: options.background)
    return copy
  }
}
