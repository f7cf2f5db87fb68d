/// Computes the weighted sum of a window's pixels around one position, and applies the mask or the alpha band.
///
/// With a mask, a target pixel is visible if the nearest source pixel is, and its colour comes from the visible pixels.
/// An alpha band is weighted like a colour. Where a transparent pixel lies under a kernel with negative weights, the
/// rest of the kernel would overshoot: bilinear weights are used there.
struct PixelWeigher {
  private let pixels: UnsafePointer<SIMD4<Float>>
  private let rect: PixelRect
  private let source: (width: Int, height: Int)
  private let resampling: Resampling
  private let isMask: Bool
  private let isOpaque: Bool
  private let weights: (x: UnsafeMutablePointer<Float>, y: UnsafeMutablePointer<Float>)

  /// - Parameter weights: memory for the most taps that any kernel has, for x and for y.
  init(
    _ window: SourceWindow, of source: any RasterSource, _ resampling: Resampling,
    weights: (x: UnsafeMutablePointer<Float>, y: UnsafeMutablePointer<Float>)
  ) {
    pixels = UnsafePointer(window.pixels)
    rect = window.rect
    self.source = (source.width, source.height)
    self.resampling = resampling
    isMask = source.alphaKind != .soft
    isOpaque = window.isOpaque
    self.weights = weights
  }

  /// Whether the source pixel at a position is masked out.
  @inline(__always)
  func isMasked(_ x: Double, _ y: Double) -> Bool {
    guard isMask, !isOpaque else { return false }
    return pixels[(Int(y) &- rect.y) &* rect.width &+ Int(x) &- rect.x].w == 0
  }

  @inline(__always)
  func straight(_ sum: SIMD4<Float>) -> SIMD4<UInt8> {
    isOpaque ? Unpremultiply.opaque(sum) : Unpremultiply.pixel(sum, isMask: isMask)
  }

  /// The sum under two kernels.
  @inline(__always)
  func sum(_ x: Double, _ y: Double, _ across: KernelShape, _ down: KernelShape) -> SIMD4<Float> {
    let (sum, alphaMin) = weigh(x, y, across, down)
    guard resampling.overshoots, !isOpaque, alphaMin == 0 else { return sum }
    return besideHole(x, y, across, down)
  }

  /// The bilinear sum that replaces that of the kernel if a pixel under the kernel is transparent.
  @inline(never)
  func besideHole(_ x: Double, _ y: Double, _ across: KernelShape, _ down: KernelShape) -> SIMD4<Float> {
    weigh(x, y, KernelShape(.bilinear, scale: across.scale), KernelShape(.bilinear, scale: down.scale)).sum
  }

  @inline(__always)
  private func weigh(
    _ x: Double, _ y: Double, _ across: KernelShape, _ down: KernelShape
  ) -> (sum: SIMD4<Float>, alphaMin: Float) {
    let columns = across.weights(at: x, count: source.width, into: weights.x)
    let rows = down.weights(at: y, count: source.height, into: weights.y)
    var sum = SIMD4<Float>.zero
    var alphaMin: Float = 1
    for j in 0..<rows.taps {
      let line = pixels + ((rows.first &+ j &- rect.y) &* rect.width &+ columns.first &- rect.x)
      var part = SIMD4<Float>.zero
      for k in 0..<columns.taps {
        let pixel = line[k]
        part += pixel * weights.x[k]
        if pixel.w < alphaMin { alphaMin = pixel.w }
      }
      sum += part * weights.y[j]
    }
    return (sum, alphaMin)
  }

  /// The sum of the four nearest pixels under the unscaled bilinear kernel.
  @inline(__always)
  func bilinear(_ x: Double, _ y: Double) -> SIMD4<Float> {
    let left = (x - 0.5).rounded(.down)
    let top = (y - 0.5).rounded(.down)
    let fx = Float(x - 0.5 - left)
    let fy = Float(y - 0.5 - top)
    let x0 = max(Int(left), 0) &- rect.x
    let x1 = min(Int(left) &+ 1, source.width &- 1) &- rect.x
    let y0 = (max(Int(top), 0) &- rect.y) &* rect.width
    let y1 = (min(Int(top) &+ 1, source.height &- 1) &- rect.y) &* rect.width
    let upper = pixels[y0 &+ x0] * (1 - fx) + pixels[y0 &+ x1] * fx
    let lower = pixels[y1 &+ x0] * (1 - fx) + pixels[y1 &+ x1] * fx
    return upper * (1 - fy) + lower * fy
  }
}

/// Converts sums of premultiplied colours (0...255) and alpha (0...1) to straight 8-bit pixels.
private enum Unpremultiply {
  /// The pixel of a sum whose alpha is 1.
  @inline(__always)
  static func opaque(_ sum: SIMD4<Float>) -> SIMD4<UInt8> {
    var pixel = sum
    pixel.w = 255
    return rounded(pixel)
  }

  /// The pixel of any sum; all zero if it is practically transparent.
  ///
  /// - Parameter isMask: gives visible pixels full alpha.
  @inline(__always)
  static func pixel(_ sum: SIMD4<Float>, isMask: Bool) -> SIMD4<UInt8> {
    let alpha = sum.w
    guard alpha > 1e-6 else { return .zero }
    var pixel = sum * (1 / alpha)
    pixel.w = isMask ? 255 : alpha * 255
    return pixel.w <= 0.5 ? .zero : rounded(pixel)
  }

  /// Each number clamped to 0...255 and rounded.
  ///
  /// Adding 2^23 to a float moves its integer part to the low bits. SIMD's conversions to integers are twenty times
  /// slower, because they convert lane by lane through generic code.
  @inline(__always)
  private static func rounded(_ v: SIMD4<Float>) -> SIMD4<UInt8> {
    let low = v.replacing(with: 0, where: v .< 0)
    let both = low.replacing(with: 255, where: low .> 255)
    return SIMD4<UInt8>(truncatingIfNeeded: unsafeBitCast(both + 8_388_608, to: SIMD4<UInt32>.self))
  }
}
