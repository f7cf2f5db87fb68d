/// An image in memory: row-major, four bytes per pixel (red, green, blue, straight alpha), no padding between rows.
///
/// A pixel with alpha 0 has red, green and blue 0 as well, so that tiles that look equal have equal bytes. A buffer has
/// one owner at a time and is not shared while it is written, which makes the unchecked `Sendable` valid.
public final class PixelBuffer: @unchecked Sendable {
  /// Pixels per row.
  public let width: Int
  /// The number of rows.
  public let height: Int
  /// `width * height * 4` bytes, 16-byte aligned.
  public let bytes: UnsafeMutableRawPointer

  /// Bytes per row.
  public var rowBytes: Int { width * 4 }
  /// Bytes of all pixels.
  public var byteCount: Int { width * height * 4 }

  /// Creates a buffer of transparent pixels.
  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
    bytes = .allocate(byteCount: max(width * height * 4, 16), alignment: 16)
    bytes.initializeMemory(as: UInt8.self, repeating: 0, count: width * height * 4)
  }

  deinit { bytes.deallocate() }

  /// Makes every pixel transparent again, for reuse.
  package func clear() {
    bytes.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
  }
}

// MARK: - Opacity

extension PixelBuffer {
  /// A classification of the alpha channel.
  package enum Opacity: Sendable {
    /// Every pixel's alpha is 0.
    case transparent
    /// Every pixel's alpha is 255.
    case opaque
    /// Anything else.
    case mixed
  }

  /// Classifies the alpha channel. An empty buffer is transparent.
  ///
  /// - Complexity: O(pixels), about 10 microseconds for an opaque 256-pixel tile. A mixed buffer is left at its first
  ///   mixed block.
  package var opacity: Opacity { Self.opacity(of: bytes, count: width * height) }

  /// Classifies `count` straight RGBA8 pixels.
  package static func opacity(of pixels: UnsafeRawPointer, count: Int) -> Opacity {
    guard count > 0 else { return .transparent }
    var every: UInt32 = .max
    var any: UInt32 = 0
    var start = 0
    // In blocks, so that a mixed buffer is left early while the inner loop stays a plain reduction that vectorises.
    while start < count {
      let end = min(start &+ 1024, count)
      for i in start..<end {
        let pixel = pixels.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
        every &= pixel
        any |= pixel
      }
      if any >> 24 != 0 && every >> 24 != 255 { return .mixed }
      start = end
    }
    return any >> 24 == 0 ? .transparent : .opaque
  }

  /// The colour of all pixels; nil when there are two different ones or none.
  ///
  /// - Complexity: O(pixels) for a uniform buffer; others are left at the first block that differs.
  package var uniformColour: RGBA? {
    let count = width * height
    guard count > 0 else { return nil }
    let pixels = UnsafeRawPointer(bytes)
    let first = pixels.loadUnaligned(as: UInt32.self)
    var start = 0
    while start < count {
      let end = min(start &+ 1024, count)
      var difference: UInt32 = 0
      for i in start..<end {
        difference |= pixels.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self) ^ first
      }
      if difference != 0 { return nil }
      start = end
    }
    return RGBA(word: first)
  }
}

// MARK: - Filling and copying

extension PixelBuffer {
  /// Sets every pixel to one colour. A colour whose alpha is 0 counts as ``RGBA/transparent``.
  package func fill(_ colour: RGBA) {
    let word = colour.alpha == 0 ? 0 : colour.word
    for i in 0..<(width * height) {
      bytes.storeBytes(of: word, toByteOffset: i &* 4, as: UInt32.self)
    }
  }

  /// Copies the pixels of a buffer of the same size.
  package func copy(from source: PixelBuffer) {
    precondition(source.width == width && source.height == height, "buffers of different sizes")
    bytes.copyMemory(from: source.bytes, byteCount: byteCount)
  }

  /// Copies the source's pixels to the rectangle at (x, y). Pixels outside of this buffer are left out.
  package func copy(_ source: PixelBuffer, x: Int, y: Int) {
    let left = max(x, 0)
    let right = min(x + source.width, width)
    guard left < right else { return }
    for row in max(y, 0)..<max(min(y + source.height, height), max(y, 0)) {
      (bytes + row * rowBytes + left * 4).copyMemory(
        from: source.bytes + (row - y) * source.rowBytes + (left - x) * 4, byteCount: (right - left) * 4)
    }
  }

  /// Zeroes the colours of pixels with alpha 0, as the buffer requires; codecs do not.
  func clearTransparentPixels() { Self.clearTransparentPixels(bytes, count: width * height) }

  /// The same for any `count` pixels.
  static func clearTransparentPixels(_ pixels: UnsafeMutableRawPointer, count: Int) {
    for i in 0..<count {
      let pixel = pixels.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
      pixels.storeBytes(of: pixel &>> 24 == 0 ? 0 : pixel, toByteOffset: i &* 4, as: UInt32.self)
    }
  }
}

/// One colour: red, green, blue and alpha, straight (not premultiplied), 0 to 255.
public struct RGBA: Hashable, Sendable {
  /// 0 to 255, not multiplied with alpha.
  public var red: UInt8
  /// 0 to 255, not multiplied with alpha.
  public var green: UInt8
  /// 0 to 255, not multiplied with alpha.
  public var blue: UInt8
  /// 0 is transparent, 255 opaque.
  public var alpha: UInt8

  /// A colour with straight alpha; opaque unless given.
  public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
    (self.red, self.green, self.blue, self.alpha) = (red, green, blue, alpha)
  }

  /// Opaque white.
  public static let white = RGBA(red: 255, green: 255, blue: 255)
  /// Opaque black.
  public static let black = RGBA(red: 0, green: 0, blue: 0)
  /// Nothing: alpha 0.
  public static let transparent = RGBA(red: 0, green: 0, blue: 0, alpha: 0)

  /// The four bytes as one 32-bit word of a ``PixelBuffer``: red in the lowest bits.
  ///
  /// Kernels work on these words. All platforms of Swift are little-endian.
  package var word: UInt32 {
    UInt32(red) | UInt32(green) << 8 | UInt32(blue) << 16 | UInt32(alpha) << 24
  }

  package init(word: UInt32) {
    self.init(
      red: UInt8(truncatingIfNeeded: word), green: UInt8(truncatingIfNeeded: word >> 8),
      blue: UInt8(truncatingIfNeeded: word >> 16), alpha: UInt8(truncatingIfNeeded: word >> 24))
  }
}
