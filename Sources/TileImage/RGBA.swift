/// One colour: red, green, blue and alpha, straight (not premultiplied), 0 to 255.
public struct RGBA: Hashable, Sendable {
  public var red: UInt8
  public var green: UInt8
  public var blue: UInt8
  public var alpha: UInt8

  public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
    (self.red, self.green, self.blue, self.alpha) = (red, green, blue, alpha)
  }

  public static let white = RGBA(red: 255, green: 255, blue: 255)
  public static let black = RGBA(red: 0, green: 0, blue: 0)
  public static let transparent = RGBA(red: 0, green: 0, blue: 0, alpha: 0)

  /// The four bytes as a pixel of a ``PixelBuffer`` reads when it is loaded as one 32-bit word: red in the lowest bits.
  ///
  /// Kernels work on these words; every platform that Swift runs on is little-endian.
  package var word: UInt32 {
    UInt32(red) | UInt32(green) << 8 | UInt32(blue) << 16 | UInt32(alpha) << 24
  }

  package init(word: UInt32) {
    self.init(
      red: UInt8(truncatingIfNeeded: word), green: UInt8(truncatingIfNeeded: word >> 8),
      blue: UInt8(truncatingIfNeeded: word >> 16), alpha: UInt8(truncatingIfNeeded: word >> 24))
  }
}
