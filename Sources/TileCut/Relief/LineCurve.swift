/// Curves through the points of a line.
///
/// They are centripetal Catmull-Rom splines: in that parametrisation a curve has no loops or cusps between two points,
/// however uneven their distances are.
enum LineCurve {
  /// The points of a line, and places on a curve between each two of them.
  ///
  /// - Parameters:
  ///   - line: a closed one ends with its first point. Points that repeat the one before are left out.
  ///   - parts: into how many parts each segment is divided; with 1 the line stays as it is.
  static func points(_ line: [SIMD2<Double>], parts: Int) -> [SIMD2<Double>] {
    var line = line
    var last: SIMD2<Double>?
    line.removeAll { point in
      defer { last = point }
      return last.map { length($0 - point) < 1e-9 } ?? false
    }
    guard line.count > 2, parts > 1 else { return line }
    let isClosed = length(line[0] - line[line.count - 1]) < 1e-9
    // Ends go on straight.
    let before = isClosed ? line[line.count - 2] : line[0] * 2 - line[1]
    let after = isClosed ? line[1] : line[line.count - 1] * 2 - line[line.count - 2]
    var curve: [SIMD2<Double>] = []
    curve.reserveCapacity((line.count - 1) * parts + 1)
    for i in 0..<line.count - 1 {
      let (from, to) = (line[i], line[i + 1])
      curve.append(from)
      let (leaving, arriving) = tangents(
        i > 0 ? line[i - 1] : before, from, to, i + 2 < line.count ? line[i + 2] : after)
      for part in 1..<parts {
        let t = Double(part) / Double(parts)
        let (t2, t3) = (t * t, t * t * t)
        let ends = from * (2 * t3 - 3 * t2 + 1) + to * (3 * t2 - 2 * t3)
        curve.append(ends + leaving * (t3 - 2 * t2 + t) + arriving * (t3 - t2))
      }
    }
    curve.append(line[line.count - 1])
    return curve
  }

  /// The derivatives at both ends of the segment from `b` to `c`, over the whole segment.
  private static func tangents(
    _ a: SIMD2<Double>, _ b: SIMD2<Double>, _ c: SIMD2<Double>, _ d: SIMD2<Double>
  ) -> (SIMD2<Double>, SIMD2<Double>) {
    let (s, t, u) = (length(b - a).squareRoot(), length(c - b).squareRoot(), length(d - c).squareRoot())
    let leaving = (c - b) + ((b - a) / s - (c - a) / (s + t)) * t
    let arriving = (c - b) + ((d - c) / u - (d - b) / (t + u)) * t
    return (leaving, arriving)
  }

  private static func length(_ way: SIMD2<Double>) -> Double { (way * way).sum().squareRoot() }
}
