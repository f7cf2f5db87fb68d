/// Heights in the words of pixels, so that elevation models are read, masked, joined and cropped like pictures: 24 bits
/// of fixed point in place of the colours, opaque where there is a height.
///
/// Heights go from -32768 to 32767 units, in steps of 1/256; those beyond are clamped.
enum HeightCode {
  private static let steps = 256.0
  private static let offset = 32768.0

  @inline(__always)
  static func word(_ height: Double) -> UInt32 {
    let number = ((height + offset) * steps).rounded()
    return UInt32(max(0, min(16_777_215, number))) | 0xff00_0000
  }

  /// The height of a word; NaN where there is none.
  @inline(__always)
  static func height(_ word: UInt32) -> Float {
    word >> 24 == 0 ? .nan : Float(Int32(word & 0xff_ffff) - 8_388_608) * (1 / 256)
  }
}
