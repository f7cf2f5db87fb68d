import TileImage

/// Scales a picture by any factor: reduced pixels are the average of the pixels they cover, enlarged ones are
/// interpolated linearly. Colours are weighted by alpha.
///
/// For single pictures; tiles use the faster kernels of TileImage.
enum PictureScaler {
  /// - Parameters:
  ///   - source: beyond its edges, its outermost pixels are repeated.
  ///   - start: the source pixel (possibly a fraction) at the target's top left corner.
  ///   - step: source pixels per target pixel.
  static func draw(_ source: PixelBuffer, from start: SIMD2<Double>, step: Double, into target: PixelBuffer) {
    let columns = axis(start.x, step, count: target.width, limit: source.width)
    let rows = axis(start.y, step, count: target.height, limit: source.height)
    for (y, row) in rows.enumerated() {
      for (x, column) in columns.enumerated() {
        var sum = SIMD4<Float>(repeating: 0)
        for (index, rowWeight) in row.weights.enumerated() {
          let line = source.bytes + (row.first + index) * source.rowBytes
          for (offset, weight) in column.weights.enumerated() {
            let pixel = line.loadUnaligned(fromByteOffset: (column.first + offset) * 4, as: SIMD4<UInt8>.self)
            var colour = SIMD4<Float>(pixel)
            let alpha = colour.w * weight * rowWeight
            colour.w = 1
            sum += colour * alpha
          }
        }
        target.bytes.storeBytes(of: word(sum), toByteOffset: y * target.rowBytes + x * 4, as: UInt32.self)
      }
    }
  }

  /// The straight pixel of a sum of colours times alpha, and alpha from 0 to 255.
  private static func word(_ sum: SIMD4<Float>) -> UInt32 {
    let alpha = sum.w.rounded()
    guard alpha >= 1 else { return 0 }
    let colour = (sum / sum.w).clamped(
      lowerBound: SIMD4(repeating: 0), upperBound: SIMD4(repeating: 255)
    ).rounded(.toNearestOrAwayFromZero)
    return UInt32(colour.x) | UInt32(colour.y) << 8 | UInt32(colour.z) << 16 | UInt32(min(alpha, 255)) << 24
  }

  /// The source pixels that contribute to one target pixel along an axis, and their weights, which sum to 1.
  private struct Share {
    var first: Int
    var weights: [Float]
  }

  private static func axis(_ start: Double, _ step: Double, count: Int, limit: Int) -> [Share] {
    (0..<count).map { index in
      // Enlarging uses a triangle kernel of radius 1, reducing the interval that the target pixel covers.
      let middle = start + (Double(index) + 0.5) * step
      let reach = step > 1 ? step / 2 : 1
      let low = Int((middle - reach).rounded(.down))
      let high = Int((middle + reach).rounded(.up)) - 1
      var weights: [Int: Double] = [:]
      for pixel in low...max(low, high) {
        let weight =
          step > 1
          ? min(Double(pixel + 1), middle + reach) - max(Double(pixel), middle - reach)
          : 1 - abs(Double(pixel) + 0.5 - middle)
        if weight > 0 { weights[min(max(pixel, 0), limit - 1), default: 0] += weight }
      }
      let sum = weights.values.reduce(0, +)
      let first = weights.keys.min() ?? min(max(low, 0), limit - 1)
      let last = weights.keys.max() ?? first
      return Share(
        first: first, weights: sum > 0 ? (first...last).map { Float((weights[$0] ?? 0) / sum) } : [1])
    }
  }
}
