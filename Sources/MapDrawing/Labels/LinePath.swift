import LibC

/// A line that labels follow.
struct LinePath {
  private(set) var points: [SIMD2<Double>]
  /// The way from the first point to each, in pixels.
  private var lengths: [Double]
  var length: Double { lengths[lengths.count - 1] }

  init?(_ points: [SIMD2<Double>]) {
    guard points.count > 1 else { return nil }
    self.points = points
    lengths = LineShape.lengths(along: points)
  }

  private var reversed: LinePath { LinePath(points.reversed())! }

  /// The ways along the line that lie in a box, ascending.
  func ways(in box: PixelBox) -> [ClosedRange<Double>] {
    var ways: [ClosedRange<Double>] = []
    for i in 0..<(points.count - 1) {
      guard let part = Self.clipped(points[i], points[i + 1], box) else { continue }
      let length = lengths[i + 1] - lengths[i]
      let (from, to) = (lengths[i] + length * part.start, lengths[i] + length * part.end)
      if let last = ways.last, from <= last.upperBound + 1e-6 {
        ways[ways.count - 1] = last.lowerBound...max(from, to)
      } else {
        ways.append(from...max(from, to))
      }
    }
    return ways
  }

  /// The part of a segment in a box, as shares of its length (Liang and Barsky).
  private static func clipped(
    _ a: SIMD2<Double>, _ b: SIMD2<Double>, _ box: PixelBox
  ) -> (start: Double, end: Double)? {
    var (start, end) = (0.0, 1.0)
    let way = b - a
    for axis in 0..<2 {
      for (limit, sign) in [(box.low[axis], -1.0), (box.high[axis], 1.0)] {
        let (speed, room) = (way[axis] * sign, (limit - a[axis]) * sign)
        if speed == 0 {
          if room < 0 { return nil }
        } else if speed > 0 {
          end = min(end, room / speed)
        } else {
          start = max(start, room / speed)
        }
      }
    }
    return start <= end ? (start, end) : nil
  }

  /// The way to the point of the line that is nearest to another one, among some ways.
  func way(nearest point: SIMD2<Double>, within ways: ClosedRange<Double>) -> Double {
    var best = (way: ways.lowerBound, distance2: Double.infinity)
    for i in index(before: ways.lowerBound)..<(points.count - 1) {
      guard lengths[i] <= ways.upperBound else { break }
      let (step, from) = (points[i + 1] - points[i], point - points[i])
      let length2 = (step * step).sum()
      let share = length2 > 0 ? max(0, min(1, (from * step).sum() / length2)) : 0
      let way = max(ways.lowerBound, min(ways.upperBound, lengths[i] + share * length2.squareRoot()))
      let off = point - self.point(at: way)
      let distance2 = (off * off).sum()
      if distance2 < best.distance2 { best = (way, distance2) }
    }
    return best.way
  }

  /// The segment on which a way ends.
  private func index(before way: Double) -> Int {
    var (low, high) = (0, lengths.count - 1)
    while high - low > 1 {
      let middle = (low + high) / 2
      if lengths[middle] <= way { low = middle } else { high = middle }
    }
    return low
  }

  /// The place after a way along the line.
  func point(at way: Double) -> SIMD2<Double> {
    let low = index(before: way)
    let high = low + 1
    let step = lengths[high] - lengths[low]
    guard step > 0 else { return points[low] }
    return points[low] + (points[high] - points[low]) * max(0, min(1, (way - lengths[low]) / step))
  }

  /// The direction around a place, as a unit vector, over some pixels.
  func direction(at way: Double, over reach: Double) -> SIMD2<Double> {
    let step = point(at: min(way + reach / 2, length)) - point(at: max(way - reach / 2, 0))
    let length = step.length
    return length > 0 ? step / length : SIMD2(1, 0)
  }

  /// A text along the line with its middle at a place, upright as far as a text can be.
  ///
  /// - Returns: the label, and how much the line bends below it, in radians; nil if it bends more between two letters
  ///   than the style allows, or if the line is too short.
  func label(_ text: ShapedText, _ style: SymbolStyle.Text, at middle: Double) -> (label: Label, bend: Double)? {
    guard let line = text.lines.first, text.lines.count == 1 else { return nil }
    let start = middle - line.width / 2
    guard start >= 0, start + line.width <= length else { return nil }
    // The part with the letters, and as far beyond as their directions need.
    let first = index(before: max(start - style.request.size, 0))
    let last = index(before: min(start + line.width + style.request.size, length)) + 1
    guard let part = LinePath(Array(points[first...last])) else { return nil }
    let from = start - lengths[first]
    if part.point(at: from + line.width).x < part.point(at: from).x {
      return part.reversed.upright(line, style, from: part.length - from - line.width)
    }
    return part.upright(line, style, from: from)
  }

  /// The least and the largest distance of neighbouring letters, as shares of that on a straight line.
  private static let closest = 0.78
  private static let farthest = 1.3

  private func upright(
    _ line: ShapedText.Line, _ style: SymbolStyle.Text, from start: Double
  ) -> (label: Label, bend: Double)? {
    let size = style.request.size
    var outlines: [PlacedOutline] = []
    var bend = 0.0
    var last: (across: SIMD2<Double>, middle: SIMD2<Double>, x: Double)?
    let limit = cos(style.maxAngle * .pi / 180)
    for cluster in line.clusters {
      let middle = start + cluster.x + cluster.advance / 2
      // Over more than a letter, so that small bends of the line do not shake the text.
      let across = direction(at: middle, over: max(cluster.advance, 0.9 * size))
      let down = SIMD2(-across.y, across.x)
      // Of the letters' middle line.
      let centre = point(at: middle) + down * style.offset.y + across * style.offset.x
      let x = cluster.x + cluster.advance / 2
      if let last {
        let cosine = (last.across * across).sum()
        guard cosine >= limit else { return nil }
        bend += 1 - cosine
        // Beside a bend letters come too close, or too far apart.
        let share = (centre - last.middle).length / max(x - last.x, 0.1)
        guard share > Self.closest, share < Self.farthest else { return nil }
        bend += (share - 1) * (share - 1)
      }
      last = (across, centre, x)
      guard !cluster.isBlank else { continue }
      let place = centre - across * (cluster.advance / 2) + down * (0.35 * size)
      outlines.append(PlacedOutline(outline: cluster.outline, place: place, across: across))
    }
    var label = Label()
    label.add(outlines, style.ink, halo: style.halo)
    let margin = (style.halo?.width ?? 0) / 2 + style.padding
    label.boxes = outlines.compactMap(\.box).map { $0.expanded(by: margin) }
    return label.boxes.isEmpty ? nil : (label, bend)
  }
}
