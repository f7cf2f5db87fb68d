import Foundation
import TileImage
import TileIndex

@testable import TileCut

/// The warp as docs/explanation/resampling.md describes it: pixel by pixel in double precision, with an exact
/// transformation of every position.
struct WarpReference {
  let source: ArraySource
  let resampling: Resampling
  private let transform: CoordinateTransform
  private let grid: PixelGrid
  private let toPixel: Affine

  init(_ source: ArraySource, matrixSet: TileMatrixSet, zoom: Int, _ resampling: Resampling) throws {
    self.source = source
    self.resampling = resampling
    grid = PixelGrid(matrixSet[zoom], wraps: matrixSet.isGlobal)
    transform = try CoordinateTransform(
      from: try CoordinateReferenceSystem(definition: matrixSet.crs), to: source.georeference.crs,
      areaOfInterest: source.areaOfInterest)
    toPixel = source.georeference.affine.inverse!
  }

  struct Pixel {
    /// The position of the target pixel's centre in the source.
    var position: SIMD2<Double>
    /// Source pixels per target pixel.
    var scale: SIMD2<Double>
    /// Straight colour and alpha, 0...255; nil where nothing is drawn.
    var value: SIMD4<Double>?
  }

  func position(_ x: Double, _ y: Double) -> SIMD2<Double> {
    let target = grid.crs(SIMD2(x, y))
    var p = transform.transform(target)
    if let period = source.georeference.crs.horizontalPeriod {
      let middle = source.georeference.affine(SIMD2(Double(source.width) / 2, Double(source.height) / 2)).x
      p.x += period * ((middle - p.x) / period).rounded()
    }
    return toPixel(p)
  }

  func pixel(_ x: Int, _ y: Int) -> Pixel {
    let (cx, cy) = (Double(x) + 0.5, Double(y) + 0.5)
    let p = position(cx, cy)
    var pixel = Pixel(position: p, scale: SIMD2(1, 1), value: nil)
    guard p.x >= 0, p.y >= 0, p.x < Double(source.width), p.y < Double(source.height) else { return pixel }
    // A small step forward and back; the antimeridian may lie on one side.
    func step(_ dx: Double, _ dy: Double) -> SIMD2<Double> {
      let (a, b) = (position(cx + dx, cy + dy) - p, p - position(cx - dx, cy - dy))
      return (a * a).sum() < (b * b).sum() ? a : b
    }
    let h = 1.0 / 64
    let (across, down) = (step(h, 0) / h, step(0, h) / h)
    pixel.scale = (across * across + down * down).squareRoot()
    pixel.value = value(p, pixel.scale)
    return pixel
  }

  private func value(_ p: SIMD2<Double>, _ scale: SIMD2<Double>) -> SIMD4<Double>? {
    if resampling == .nearest { return visible(colour(Int(p.x), Int(p.y))) }
    let isMask = source.alphaKind != .soft
    if isMask, colour(Int(p.x), Int(p.y)).w == 0 { return nil }
    var sum = weigh(p, scale, resampling)
    if resampling.overshoots, sum.hasHole { sum = weigh(p, scale, .bilinear) }
    let alpha = sum.premultiplied.w
    guard alpha > 1e-6 else { return nil }
    var value = sum.premultiplied / alpha
    value.w = isMask ? 255 : alpha * 255
    return visible(value.clamped(lowerBound: .zero, upperBound: SIMD4(repeating: 255)))
  }

  private func visible(_ p: SIMD4<Double>) -> SIMD4<Double>? { p.w > 0.5 ? p : nil }

  private func colour(_ x: Int, _ y: Int) -> SIMD4<Double> {
    let p = source.pixels[y * source.width + x]
    return SIMD4(Double(p.x), Double(p.y), Double(p.z), Double(p.w))
  }

  private func weigh(
    _ p: SIMD2<Double>, _ scale: SIMD2<Double>, _ kernel: Resampling
  ) -> (premultiplied: SIMD4<Double>, hasHole: Bool) {
    let columns = weights(p.x, scale.x, source.width, kernel)
    let rows = weights(p.y, scale.y, source.height, kernel)
    var sum = SIMD4<Double>.zero
    var hasHole = false
    for (y, wy) in rows {
      for (x, wx) in columns {
        var c = colour(x, y)
        if c.w == 0 { hasHole = true }
        let alpha = c.w / 255
        c *= alpha
        c.w = alpha
        sum += c * (wx * wy)
      }
    }
    return (sum, hasHole)
  }

  private func weights(_ position: Double, _ scale: Double, _ count: Int, _ kernel: Resampling) -> [(Int, Double)] {
    let stretch = scale > 1 / 0.95 ? min(scale, Double(count)) : 1
    var kernel = kernel
    let radius = (kernel == .lanczos ? 3 : 2) * stretch
    if kernel.overshoots, position - radius < -0.5 || position + radius >= Double(count) + 0.5 {
      kernel = .bilinear
    }
    let weighted: [(Int, Double)] = (0..<count).compactMap { i in
      let t = abs(Double(i) + 0.5 - position)
      let w: Double
      switch kernel {
      case .nearest: w = Int(position) == i ? 1 : 0
      case .bilinear: w = max(0, 1 - t / stretch)
      case .cubic:
        let s = t / stretch
        w =
          s < 1 ? 1.5 * pow(s, 3) - 2.5 * s * s + 1 : s < 2 ? -0.5 * pow(s, 3) + 2.5 * s * s - 4 * s + 2 : 0
      case .lanczos:
        let s = t / stretch
        func sinc(_ x: Double) -> Double { x == 0 ? 1 : sin(.pi * x) / (.pi * x) }
        w = s < 3 ? sinc(s) * sinc(s / 3) : 0
      case .gauss:
        let s = t / stretch
        w = s < 1.5 ? exp(-4 * s * s) : 0
      case .average, .mode:
        let low = max(Double(i), position - scale / 2)
        let high = min(Double(i + 1), position + scale / 2)
        w = max(0, high - low)
      }
      return w == 0 ? nil : (i, w)
    }
    let sum = weighted.reduce(0) { $0 + $1.1 }
    return weighted.map { ($0.0, $0.1 / sum) }
  }
}
