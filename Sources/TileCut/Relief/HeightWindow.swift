/// Reads windows of an elevation model, possibly interpolated to a multiple of its pixels.
///
/// The kernel between heights is the cubic B-spline: slopes change smoothly too, so that shades have neither kinks nor
/// the model's pattern. It takes off a third of a hill as narrow as two pixels, and nothing of an even slope.
enum HeightWindow {
  /// The model's pixels under a window of interpolated ones, clipped to the model.
  ///
  /// - Parameter margin: pixels of the model to add on all sides.
  static func coarse(_ window: PixelRect, factor: Int, margin: Int, _ model: any RasterSource) -> PixelRect {
    let left = max(floor(window.x, factor) - margin, 0)
    let top = max(floor(window.y, factor) - margin, 0)
    let right = min(floor(window.x + window.width - 1, factor) + 1 + margin, model.width)
    let bottom = min(floor(window.y + window.height - 1, factor) + 1 + margin, model.height)
    return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
  }

  private static func floor(_ a: Int, _ b: Int) -> Int { a >= 0 ? a / b : -((b - 1 - a) / b) }

  /// Reads a window and one pixel around it on all sides. Heights that are missing or lie outside are NaN.
  ///
  /// - Parameters:
  ///   - window: in interpolated pixels, `factor` for each of the model's along an edge.
  ///   - heights: `(window.width + 2) * (window.height + 2)`, row-major.
  static func read(
    _ window: PixelRect, of model: any RasterSource, factor: Int, into heights: UnsafeMutablePointer<Float>
  ) throws {
    let around = PixelRect(
      x: window.x - 1, y: window.y - 1, width: window.width + 2, height: window.height + 2)
    // Two pixels lie under either side of a cubic kernel.
    let source = coarse(around, factor: factor, margin: factor == 1 ? 0 : 2, model)
    try withUnsafeTemporaryAllocation(of: UInt32.self, capacity: source.width * source.height) { words in
      _ = try model.read(source, into: UnsafeMutableRawPointer(words.baseAddress!), rowBytes: source.width * 4)
      if factor == 1 {
        copy(words.baseAddress!, source, to: around, into: heights)
      } else {
        interpolate(words.baseAddress!, source, to: around, factor: factor, into: heights)
      }
    }
  }

  private static func copy(
    _ words: UnsafePointer<UInt32>, _ source: PixelRect, to around: PixelRect, into heights: UnsafeMutablePointer<Float>
  ) {
    heights.update(repeating: .nan, count: around.width * around.height)
    for y in source.y..<(source.y + source.height) {
      let from = words + (y - source.y) * source.width
      let to = heights + (y - around.y) * around.width + (source.x - around.x)
      for x in 0..<source.width { to[x] = HeightCode.height(from[x]) }
    }
  }

  /// Interpolates along rows and then along columns. A height is missing where the nearest one of the model is; other
  /// missing ones are left out of the kernel.
  private static func interpolate(
    _ words: UnsafePointer<UInt32>, _ source: PixelRect, to around: PixelRect, factor: Int,
    into heights: UnsafeMutablePointer<Float>
  ) {
    let taps = (0..<factor).map { Taps(phase: $0, factor: factor) }
    // The rows of the model, interpolated along x.
    withUnsafeTemporaryAllocation(of: Float.self, capacity: around.width * source.height) { lines in
      for y in 0..<source.height {
        let line = words + y * source.width
        for x in 0..<around.width {
          let place = around.x + x
          let nearest = floor(place, factor)
          lines[y * around.width + x] = taps[place - nearest * factor].sum { tap in
            let column = nearest + tap - source.x
            return column >= 0 && column < source.width ? HeightCode.height(line[column]) : .nan
          }
        }
      }
      for y in 0..<around.height {
        let place = around.y + y
        let nearest = floor(place, factor)
        let tap = taps[place - nearest * factor]
        for x in 0..<around.width {
          heights[y * around.width + x] = tap.sum { tap in
            let row = nearest + tap - source.y
            return row >= 0 && row < source.height ? lines[row * around.width + x] : .nan
          }
        }
      }
    }
  }

  /// The kernel's weights at one of the places between two of the model's pixels.
  private struct Taps {
    /// The first tap, counted from the nearest pixel.
    private let first: Int
    private let weights: SIMD4<Float>

    /// - Parameter phase: which of the `factor` places within the nearest pixel.
    init(phase: Int, factor: Int) {
      let offset = (Double(phase) + 0.5) / Double(factor) - 0.5
      let u = offset < 0 ? offset + 1 : offset
      let (u2, u3, rest) = (u * u, u * u * u, 1 - u)
      let parts = SIMD4(rest * rest * rest, 3 * u3 - 6 * u2 + 4, 3 * (u + u2 - u3) + 1, u3)
      (first, weights) = (offset < 0 ? -2 : -1, SIMD4<Float>(parts / 6))
    }

    /// The weighted mean of the heights that are not missing; NaN where the nearest is.
    @inline(__always)
    func sum(_ height: (Int) -> Float) -> Float {
      var (sum, total) = (Float(0), Float(0))
      for i in 0..<4 {
        let value = height(first + i)
        if value.isNaN {
          if first + i == 0 { return .nan }
          continue
        }
        sum += value * weights[i]
        total += weights[i]
      }
      return sum / total
    }
  }
}
