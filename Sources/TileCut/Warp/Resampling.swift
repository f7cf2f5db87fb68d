import LibC

/// How target pixels are computed from source pixels.
public enum Resampling: String, Sendable, CaseIterable, Codable {
  /// The source pixel that contains the target pixel's centre; overviews pick one pixel of each block.
  case nearest
  /// A triangle kernel of radius 1 source pixel, widened by the scale when shrinking.
  case bilinear
  /// Keys' cubic convolution kernel with a = -0.5, radius 2 source pixels, widened by the scale when shrinking.
  case cubic
  /// A windowed sinc kernel with three lobes, radius 3 source pixels, widened by the scale when shrinking.
  case lanczos
  /// A Gaussian kernel, radius 1.5 source pixels, widened by the scale when shrinking.
  case gauss
  /// The area-weighted mean of the source pixels that the target pixel covers.
  case average
  /// The colour that covers most of the target pixel, for palettes and categories; no colour appears that the source
  /// does not have.
  case mode

  /// True for kernels with negative weights, which overshoot where a part of the kernel is missing.
  @inline(__always)
  package var overshoots: Bool { self == .cubic || self == .lanczos }
}

/// A resampling kernel along one axis, sized to the local scale.
///
/// Kernels are widened when shrinking, to prevent aliasing. At scales up to 1 / 0.95 they stay as they are, which keeps
/// edges crisp without visible aliasing; gdalwarp has the same threshold.
package struct KernelShape: Sendable {
  package let resampling: Resampling
  /// Source pixels per target pixel along this axis.
  package let scale: Double
  /// The factor by which the kernel is widened, at least 1.
  package let stretch: Double
  /// The distance in source pixels from the centre beyond which weights are zero.
  package let radius: Double

  /// The largest scale at which kernels are not widened.
  package static let plainScaleMax = 1 / 0.95

  @inline(__always)
  package init(_ resampling: Resampling, scale: Double) {
    self.resampling = resampling
    self.scale = scale
    stretch = scale > Self.plainScaleMax ? scale : 1
    radius =
      switch resampling {
      case .nearest: 0.5
      case .bilinear: stretch
      case .cubic: 2 * stretch
      case .lanczos: 3 * stretch
      case .gauss: 1.5 * stretch
      case .average, .mode: max(scale, Self.scaleMin) / 2 + 0.5
      }
  }

  private static let scaleMin = 1e-3

  /// The maximum number of source pixels with a weight.
  package var tapCountMax: Int { Int((2 * radius).rounded(.up)) + 2 }

  /// Computes the weights around a position.
  ///
  /// Where the source's edge cuts off a lobe of a kernel with negative weights, the rest would overshoot: bilinear
  /// weights are used there.
  ///
  /// - Parameters:
  ///   - position: in source pixels (0.5 is the first pixel's centre).
  ///   - count: the source's pixels along this axis. The kernel is cut off at its edges, and the remaining weights are
  ///     normalised.
  ///   - weights: memory for ``tapCountMax`` numbers; they sum to 1.
  /// - Returns: the first source pixel and the number of pixels.
  @inline(__always)
  package func weights(
    at position: Double, count: Int, into weights: UnsafeMutablePointer<Float>
  ) -> (first: Int, taps: Int) {
    if resampling.overshoots, position - radius < -0.5 || position + radius >= Double(count) + 0.5 {
      return KernelShape(.bilinear, scale: scale).ownWeights(at: position, count: count, into: weights)
    }
    return ownWeights(at: position, count: count, into: weights)
  }

  @inline(__always)
  private func ownWeights(
    at position: Double, count: Int, into weights: UnsafeMutablePointer<Float>
  ) -> (first: Int, taps: Int) {
    let first = min(max(Int((position - radius - 0.5).rounded(.up)), 0), count &- 1)
    let last = min(max(Int((position + radius - 0.5).rounded(.down)), first), count &- 1)
    let taps = last &- first &+ 1
    let start = Double(first) + 0.5 - position
    var sum = 0.0
    switch resampling {
    case .nearest: sum = fill(weights, taps, start) { abs($0) <= 0.5 ? 1 : 0 }
    case .bilinear:
      let narrowing = 1 / stretch
      sum = fill(weights, taps, start) { max(0, 1 - abs($0) * narrowing) }
    case .average, .mode:
      // The overlap of the source pixel with the target pixel's footprint.
      let half = max(scale, Self.scaleMin) / 2
      sum = fill(weights, taps, start) { max(0, min($0 + 0.5, half) - max($0 - 0.5, -half)) }
    case .cubic:
      let narrowing = 1 / stretch
      sum = fill(weights, taps, start) {
        let t = abs($0) * narrowing
        if t < 1 { return (1.5 * t - 2.5) * t * t + 1 }
        return t < 2 ? ((-0.5 * t + 2.5) * t - 4) * t + 2 : 0
      }
    case .lanczos:
      let narrowing = 1 / stretch
      let table = LanczosTable.values
      sum = fill(weights, taps, start) { LanczosTable.value(abs($0) * narrowing, table) }
    case .gauss:
      let narrowing = 1 / stretch
      sum = fill(weights, taps, start) {
        let t = abs($0) * narrowing
        return t < 1.5 ? exp(-4 * t * t) : 0
      }
    }
    if abs(sum) > 1e-9 {
      let factor = Float(1 / sum)
      for k in 0..<taps { weights[k] *= factor }
    } else {
      let nearest = min(max(Int(position.rounded(.down)) &- first, 0), taps &- 1)
      for k in 0..<taps { weights[k] = k == nearest ? 1 : 0 }
    }
    return (first, taps)
  }

  /// Gives each pixel the weight of its distance from the position; returns the sum.
  @inline(__always)
  private func fill(
    _ weights: UnsafeMutablePointer<Float>, _ taps: Int, _ start: Double, _ weight: (Double) -> Double
  ) -> Double {
    var sum = 0.0
    for k in 0..<taps {
      let w = weight(start + Double(k))
      weights[k] = Float(w)
      sum += w
    }
    return sum
  }
}

/// The Lanczos kernel sinc(t) sinc(t / 3) for 0 <= t <= 3, as a table: two sines for each weight would take most of a
/// cut's time. Between its entries it is linear, within 1e-6 of the kernel.
private enum LanczosTable {
  private static let steps = 1024.0

  nonisolated(unsafe) static let values: UnsafePointer<Double> = {
    let count = Int(3 * steps) + 2
    let values = UnsafeMutablePointer<Double>.allocate(capacity: count)
    func sinc(_ x: Double) -> Double { x == 0 ? 1 : sin(.pi * x) / (.pi * x) }
    for i in 0..<count {
      let t = Double(i) / steps
      values[i] = t < 3 ? sinc(t) * sinc(t / 3) : 0
    }
    return UnsafePointer(values)
  }()

  @inline(__always)
  static func value(_ t: Double, _ table: UnsafePointer<Double>) -> Double {
    guard t < 3 else { return 0 }
    let place = t * steps
    let index = Int(place)
    return table[index] + (table[index &+ 1] - table[index]) * (place - Double(index))
  }
}
