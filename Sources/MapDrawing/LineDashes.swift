/// The dashes of a line. Each is where it is on the whole line: a library that counts from the part that a tile shows
/// adds up other roundings in each tile.
extension LineShape {
  /// The shortest dash with a round or square cap; the direction of one without length would be unknown.
  static let dotLength = 1.0 / 64

  /// The dashes of a run of points, as lines of their own.
  ///
  /// - Parameters:
  ///   - pattern: lengths of dashes and gaps by turns, in pixels; some are above 0.
  ///   - hasCaps: whether dashes without length are seen.
  /// - Precondition: the line is ``measured()``.
  func dashes(_ pattern: [Double], in run: Range<Int>, hasCaps: Bool) -> [[SIMD2<Double>]] {
    let pattern = pattern.count.isMultiple(of: 2) ? pattern : pattern + pattern
    var starts = [0.0]
    for length in pattern { starts.append(starts[starts.count - 1] + length) }
    let period = starts[pattern.count]
    let (begin, end) = (lengths[run.lowerBound], lengths[run.upperBound - 1])
    var dashes: [[SIMD2<Double>]] = []
    var segment = run.lowerBound
    var turn = (begin / period).rounded(.down)
    while turn * period <= end {
      for part in stride(from: 0, to: pattern.count, by: 2) {
        let from = turn * period + starts[part]
        var to = turn * period + starts[part + 1]
        if pattern[part] == 0 {
          guard hasCaps else { continue }
          to += Self.dotLength
        }
        guard to > begin, from <= end else { continue }
        while segment + 2 < run.upperBound, lengths[segment + 1] <= from { segment += 1 }
        var points = [from <= begin ? self.points[run.lowerBound] : point(at: from, in: segment)]
        var last = segment
        while last + 2 < run.upperBound, lengths[last + 1] < to {
          last += 1
          points.append(self.points[last])
        }
        points.append(to >= end ? self.points[run.upperBound - 1] : point(at: to, in: last))
        dashes.append(points)
      }
      turn += 1
    }
    return dashes
  }

  private func point(at way: Double, in segment: Int) -> SIMD2<Double> {
    let length = lengths[segment + 1] - lengths[segment]
    guard length > 0 else { return points[segment] }
    return points[segment] + (points[segment + 1] - points[segment]) * ((way - lengths[segment]) / length)
  }
}
