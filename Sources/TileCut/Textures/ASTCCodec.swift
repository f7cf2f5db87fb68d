import CASTCShim
package import TileImage

/// Adaptive Scalable Texture Compression, through Arm's libastcenc: GPUs of phones and tablets since about 2014 draw
/// these textures as they are. One instance per worker: it is not thread-safe.
package final class ASTCCodec {
  private let codec: OpaquePointer
  package let block: TextureBlock

  /// - Throws: ``CutError`` `.systemError` if the library is not installed.
  package init(block: TextureBlock, effort: TextureEffort = .medium) throws {
    self.block = block
    var message: UnsafePointer<CChar>?
    let (width, height) = (UInt32(block.width), UInt32(block.height))
    if let reason = castc_load() {
      throw CutError(
        .systemError, "textures need libastcenc: \(String(cString: reason))",
        remedy: "install it (apt-get install libastcenc3d)")
    }
    guard let codec = castc_open(width, height, effort.quality, &message) else {
      throw CutError(.systemError, "libastcenc: \(message.map { String(cString: $0) } ?? "unknown error")")
    }
    self.codec = codec
  }

  deinit { castc_close(codec) }

  /// Blocks of 16 bytes, row by row from the north west.
  ///
  /// Transparent pixels get the mean colour of their visible neighbours, because a GPU's filter mixes the colours of
  /// neighbours whatever their alpha.
  package func encode(_ pixels: PixelBuffer) throws -> [UInt8] {
    let source = pixels.opacity == .mixed ? Self.bleeding(pixels) : pixels
    let count = block.byteCount(width: pixels.width, height: pixels.height)
    var message: UnsafePointer<CChar>?
    let blocks = [UInt8](unsafeUninitializedCapacity: count) { blocks, length in
      message = castc_compress(
        codec, source.bytes.assumingMemoryBound(to: UInt8.self), UInt32(pixels.width), UInt32(pixels.height),
        blocks.baseAddress!, count)
      length = count
    }
    if let message { throw Self.failure(message) }
    return blocks
  }

  /// Straight RGBA pixels. Those with alpha 0 keep the colour that the texture has there.
  package func decode(_ blocks: [UInt8], width: Int, height: Int) throws -> PixelBuffer {
    let pixels = PixelBuffer(width: width, height: height)
    let message = castc_decompress(
      codec, blocks, blocks.count, pixels.bytes.assumingMemoryBound(to: UInt8.self), UInt32(width), UInt32(height))
    if let message { throw Self.failure(message) }
    return pixels
  }

  private static func failure(_ message: UnsafePointer<CChar>) -> CutError {
    CutError(.systemError, "libastcenc: \(String(cString: message))")
  }

  /// A copy whose transparent pixels have the mean colour of their visible neighbours, and stay transparent.
  private static func bleeding(_ pixels: PixelBuffer) -> PixelBuffer {
    let copy = PixelBuffer(width: pixels.width, height: pixels.height)
    copy.copy(from: pixels)
    let source = UnsafeRawPointer(pixels.bytes).assumingMemoryBound(to: UInt32.self)
    let target = copy.bytes.assumingMemoryBound(to: UInt32.self)
    let (width, height) = (pixels.width, pixels.height)
    for y in 0..<height {
      for x in 0..<width where source[y &* width &+ x] >> 24 == 0 {
        var sum = SIMD4<UInt32>.zero
        for row in max(y - 1, 0)...min(y + 1, height - 1) {
          for column in max(x - 1, 0)...min(x + 1, width - 1) {
            let pixel = source[row &* width &+ column]
            guard pixel >> 24 != 0 else { continue }
            sum &+= SIMD4(pixel & 255, pixel >> 8 & 255, pixel >> 16 & 255, 1)
          }
        }
        guard sum.w > 0 else { continue }
        let mean = (sum &+ sum.w / 2) / sum.w
        target[y &* width &+ x] = mean.x | mean.y << 8 | mean.z << 16
      }
    }
    return copy
  }
}

/// The pixels of a block, which take 16 bytes: fewer for more quality, more for less memory.
package enum TextureBlock: String, Sendable, CaseIterable, Codable {
  /// 8 bits for each pixel.
  case four = "4x4"
  /// 5.1 bits for each pixel.
  case five = "5x5"
  /// 3.6 bits for each pixel.
  case six = "6x6"
  /// 2 bits for each pixel.
  case eight = "8x8"

  package var width: Int {
    switch self {
    case .four: 4
    case .five: 5
    case .six: 6
    case .eight: 8
    }
  }
  package var height: Int { width }

  /// The bytes of a texture.
  package func byteCount(width: Int, height: Int) -> Int {
    ((width + self.width - 1) / self.width) * ((height + self.height - 1) / self.height) * 16
  }
}

/// Time against likeness, as libastcenc's presets; the size is the same.
package enum TextureEffort: String, Sendable, CaseIterable, Codable {
  case fast
  case medium
  case thorough

  fileprivate var quality: Float {
    switch self {
    case .fast: 10
    case .medium: 60
    case .thorough: 98
    }
  }
}
