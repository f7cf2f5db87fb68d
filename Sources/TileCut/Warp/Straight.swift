/// Sums of premultiplied colours (0...255) and alpha (0...1) as straight 8-bit pixels.
enum Straight {
  /// The pixel of a sum whose alpha is 1.
  @inline(__always)
  static func opaque(_ sum: SIMD4<Float>) -> SIMD4<UInt8> {
    var pixel = sum
    pixel.w = 255
    return rounded(pixel)
  }

  /// The pixel of any sum; all zero when it is as good as transparent.
  ///
  /// - Parameter isMask: the pixel is there or not, and is given full alpha.
  @inline(__always)
  static func pixel(_ sum: SIMD4<Float>, isMask: Bool) -> SIMD4<UInt8> {
    let alpha = sum.w
    guard alpha > 1e-6 else { return .zero }
    var pixel = sum * (1 / alpha)
    pixel.w = isMask ? 255 : alpha * 255
    return pixel.w <= 0.5 ? .zero : rounded(pixel)
  }

  /// Each number brought into 0...255 and rounded to the nearest whole one.
  ///
  /// 2^23 added to a float leaves its whole part in the low bits. SIMD's own conversions to integers go lane by lane through generic code: twenty times slower.
  @inline(__always)
  private static func rounded(_ v: SIMD4<Float>) -> SIMD4<UInt8> {
    let low = v.replacing(with: 0, where: v .< 0)
    let both = low.replacing(with: 255, where: low .> 255)
    return SIMD4<UInt8>(truncatingIfNeeded: unsafeBitCast(both + 8_388_608, to: SIMD4<UInt32>.self))
  }
}
