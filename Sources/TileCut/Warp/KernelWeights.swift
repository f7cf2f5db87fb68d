/// The weights of the source pixels along one axis for one target pixel.
///
/// Kernels are widened by the scale when shrinking, so that nothing aliases, but not below a shrink of 1 / 0.95: within it the plain kernel loses nothing
/// visible and keeps edges crisp (the same threshold as gdalwarp's).
package struct KernelShape: Sendable {
  package let resampling: Resampling
  /// Source pixels per target pixel along this axis.
  package let scale: Double
  /// Factor by which the kernel is widened, at least 1.
  package let stretch: Double
  /// Distance in source pixels from the centre beyond which weights are zero.
  package let radius: Double

  package init(_ resampling: Resampling, scale: Double) {
    self.resampling = resampling
    self.scale = scale
    stretch = scale > 1 / 0.95 ? scale : 1
    radius =
      switch resampling {
      case .nearest: 0.5
      case .bilinear: stretch
      case .cubic: 2 * stretch
      case .average: max(scale, 1e-3) / 2 + 0.5
      }
  }

  /// The most source pixels that have a weight.
  package var tapCountMax: Int { Int((2 * radius).rounded(.up)) + 2 }

  /// Computes the weights round a position.
  ///
  /// - Parameters:
  ///   - position: in source pixels, (0.5 is the first pixel's centre).
  ///   - count: the source's pixels along this axis; the kernel is cut off there and its weights share what is left.
  ///   - weights: room for ``tapCountMax``; they sum to 1.
  /// - Returns: the first source pixel and how many follow it, and whether the kernel had to be cut off at the source's edge.
  @inline(__always)
  package func weights(
    at position: Double, count: Int, into weights: UnsafeMutablePointer<Float>
  ) -> (first: Int, taps: Int, clipped: Bool) {
    var first = Int((position - radius - 0.5).rounded(.up))
    var last = Int((position + radius - 0.5).rounded(.down))
    let clipped = first < 0 || last >= count
    first = min(max(first, 0), count - 1)
    last = min(max(last, first), count - 1)
    var sum = 0.0
    let taps = last - first + 1
    for k in 0..<taps {
      let w = weight(Double(first + k) + 0.5 - position)
      weights[k] = Float(w)
      sum += w
    }
    if abs(sum) > 1e-9 {
      let factor = Float(1 / sum)
      for k in 0..<taps { weights[k] *= factor }
    } else {
      let nearest = min(max(Int(position.rounded(.down)), first), last)
      for k in 0..<taps { weights[k] = first + k == nearest ? 1 : 0 }
    }
    return (first, taps, clipped)
  }

  @inline(__always)
  private func weight(_ distance: Double) -> Double {
    switch resampling {
    case .nearest: return abs(distance) <= 0.5 ? 1 : 0
    case .bilinear: return max(0, 1 - abs(distance) / stretch)
    case .average:
      // The overlap of the source pixel with the target pixel's footprint.
      let half = max(scale, 1e-3) / 2
      return max(0, min(distance + 0.5, half) - max(distance - 0.5, -half))
    case .cubic:
      let t = abs(distance) / stretch
      if t < 1 { return (1.5 * t - 2.5) * t * t + 1 }
      if t < 2 { return ((-0.5 * t + 2.5) * t - 4) * t + 2 }
      return 0
    }
  }
}
