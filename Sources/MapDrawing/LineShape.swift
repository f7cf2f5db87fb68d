import TileIndex

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A line or a ring in pixels of a zoom, counted from the grid's top left corner.
///
/// It does not depend on tiles: each tile draws its part of the same points, so lines cross edges without a seam.
struct LineShape: Sendable {
  let points: [SIMD2<Double>]
  /// The way from the first point to each, in pixels.
  let lengths: [Double]
  let low: SIMD2<Double>
  let high: SIMD2<Double>

  /// The largest distance of a point that is left out from the line without it, in pixels.
  private static let tolerance = 0.15
  /// Longer segments are divided, far below the limit of cairo's numbers.
  private static let segmentMax = 32_768.0

  /// - Parameter degrees: longitudes and latitudes; segments are straight between them.
  /// - Returns: nil if no point has an image.
  init?(_ degrees: [SIMD2<Double>], matrixSet: TileMatrixSet, zoom: Int) {
    let matrix = matrixSet[zoom]
    let pixels = ProjectedRing.pixels(degrees) { points in
      for i in points.indices { points[i] = matrix.pixelCoordinates(of: matrixSet.unwrappedPoint(points[i])) }
    }
    self.init(pixels: Self.divided(Self.simplified(pixels.filter { $0.x.isFinite && $0.y.isFinite })))
  }

  private init?(pixels: [SIMD2<Double>]) {
    guard let box = PixelBox(around: pixels) else { return nil }
    (points, low, high) = (pixels, box.low, box.high)
    lengths = Self.lengths(along: pixels)
  }

  /// The line beside this one. Corners are mitered; those that would reach far beyond the offset are cut off.
  ///
  /// - Parameters:
  ///   - offset: in pixels: to the right of a line, to the inside of a polygon's ring; negative for the other side.
  ///   - isHole: whether a ring is a hole of the polygon, so that the polygon's inside is outside of the ring.
  func moved(aside offset: Double, isHole: Bool) -> LineShape? {
    let isRing = points.count > 3 && points[0] == points[points.count - 1]
    var offset = offset
    if isRing {
      var area = 0.0
      for (a, b) in zip(points, points.dropFirst()) { area += (a.x - points[0].x) * (b.y - points[0].y) }
      for (a, b) in zip(points, points.dropFirst()) { area -= (b.x - points[0].x) * (a.y - points[0].y) }
      // With rows downwards, a clockwise ring has its inside on the right, and a positive area.
      if (area > 0) == isHole { offset = -offset }
    }
    let distinct = points.indices.filter { $0 == 0 || points[$0] != points[$0 - 1] }.map { points[$0] }
    let sides = zip(distinct, distinct.dropFirst()).map { a, b in
      let way = (b - a) / (b - a).length
      return SIMD2(-way.y, way.x)
    }
    guard let first = sides.first, let last = sides.last else { return nil }
    var moved: [SIMD2<Double>] = []
    for (index, point) in distinct.enumerated() {
      let before = index > 0 ? sides[index - 1] : isRing ? last : first
      let after = index < sides.count ? sides[index] : isRing ? first : last
      let middle = before + after
      // Half the square of the middle's length is 1 plus the cosine of the bend.
      let share = (middle * middle).sum() / 2
      if share > 0.5 {
        moved.append(point + middle * (offset / share))
      } else {
        moved += [point + before * offset, point + after * offset]
      }
    }
    if isRing, moved.count > 1, moved[0] != moved[moved.count - 1] { moved.append(moved[0]) }
    return LineShape(pixels: moved)
  }

  /// The way from the first of some points to each.
  static func lengths(along points: [SIMD2<Double>]) -> [Double] {
    var lengths = [0.0]
    for (a, b) in zip(points, points.dropFirst()) { lengths.append(lengths[lengths.count - 1] + (b - a).length) }
    return lengths
  }

  /// Leaves out points that the line hardly bends at (Douglas and Peucker). The ends stay.
  private static func simplified(_ points: [SIMD2<Double>]) -> [SIMD2<Double>] {
    guard points.count > 2 else { return points }
    var isKept = [Bool](repeating: false, count: points.count)
    (isKept[0], isKept[points.count - 1]) = (true, true)
    var open = [(0, points.count - 1)]
    while let (start, end) = open.popLast() {
      let (a, b) = (points[start], points[end])
      let way = b - a
      let length2 = (way * way).sum()
      var farthest = (index: start, distance2: tolerance * tolerance)
      for i in (start + 1)..<max(end, start + 1) {
        let from = points[i] - a
        let share = length2 > 0 ? max(0, min(1, (from * way).sum() / length2)) : 0
        let off = from - way * share
        let distance2 = (off * off).sum()
        if distance2 > farthest.distance2 { farthest = (i, distance2) }
      }
      guard farthest.index > start else { continue }
      isKept[farthest.index] = true
      open.append((start, farthest.index))
      open.append((farthest.index, end))
    }
    return points.indices.filter { isKept[$0] }.map { points[$0] }
  }

  private static func divided(_ points: [SIMD2<Double>]) -> [SIMD2<Double>] {
    guard zip(points, points.dropFirst()).contains(where: { ($1 - $0).length > segmentMax }) else { return points }
    var result = [points[0]]
    for (a, b) in zip(points, points.dropFirst()) {
      let count = Int(((b - a).length / segmentMax).rounded(.up))
      if count > 1 { for i in 1..<count { result.append(a + (b - a) * (Double(i) / Double(count))) } }
      result.append(b)
    }
    return result
  }

  /// The runs of points whose segments come near a box, with a segment more at either end, which lies outside: so the
  /// ends that are drawn are either those of the line or out of sight.
  func runs(near box: PixelBox) -> [Range<Int>] {
    guard points.count > 1 else { return box.meets(low, high) ? [0..<1] : [] }
    var runs: [Range<Int>] = []
    for i in 0..<(points.count - 1) {
      let (a, b) = (points[i], points[i + 1])
      guard box.meets(pointwiseMin(a, b), pointwiseMax(a, b)) else { continue }
      let run = max(i - 1, 0)..<min(i + 3, points.count)
      if let last = runs.last, run.lowerBound < last.upperBound {
        runs[runs.count - 1] = last.lowerBound..<run.upperBound
      } else {
        runs.append(run)
      }
    }
    return runs
  }

  /// The ring cut to a box (Sutherland and Hodgman): equal to it inside the box.
  func clipped(to box: PixelBox) -> [SIMD2<Double>] {
    if low.x >= box.low.x, low.y >= box.low.y, high.x <= box.high.x, high.y <= box.high.y { return points }
    var ring = points
    for axis in 0..<2 {
      for (limit, sign) in [(box.low[axis], 1.0), (box.high[axis], -1.0)] {
        guard !ring.isEmpty else { return [] }
        var result: [SIMD2<Double>] = []
        var previous = ring[ring.count - 1]
        for point in ring {
          let (before, after) = ((previous[axis] - limit) * sign, (point[axis] - limit) * sign)
          if (before >= 0) != (after >= 0) {
            var crossing = previous + (point - previous) * (before / (before - after))
            crossing[axis] = limit
            result.append(crossing)
          }
          if after >= 0 { result.append(point) }
          previous = point
        }
        ring = result
      }
    }
    return ring
  }
}

/// A rectangle in pixels.
package struct PixelBox: Sendable, Hashable {
  package let low: SIMD2<Double>
  package let high: SIMD2<Double>

  package init(low: SIMD2<Double>, high: SIMD2<Double>) { (self.low, self.high) = (low, high) }

  /// The smallest one with all of some points; nil without points.
  init?(around points: [SIMD2<Double>]) {
    guard let first = points.first else { return nil }
    self.init(
      low: points.reduce(first) { pointwiseMin($0, $1) }, high: points.reduce(first) { pointwiseMax($0, $1) })
  }

  func meets(_ otherLow: SIMD2<Double>, _ otherHigh: SIMD2<Double>) -> Bool {
    otherLow.x <= high.x && otherLow.y <= high.y && otherHigh.x >= low.x && otherHigh.y >= low.y
  }

  /// Whether they share more than an edge.
  func overlaps(_ other: PixelBox) -> Bool {
    other.low.x < high.x && other.low.y < high.y && other.high.x > low.x && other.high.y > low.y
  }

  package func contains(_ other: PixelBox) -> Bool {
    other.low.x >= low.x && other.low.y >= low.y && other.high.x <= high.x && other.high.y <= high.y
  }

  func contains(_ point: SIMD2<Double>) -> Bool { contains(PixelBox(low: point, high: point)) }
  func union(_ other: PixelBox) -> PixelBox {
    PixelBox(low: pointwiseMin(low, other.low), high: pointwiseMax(high, other.high))
  }
  func expanded(by margin: Double) -> PixelBox { PixelBox(low: low - margin, high: high + margin) }
  func moved(by offset: SIMD2<Double>) -> PixelBox { PixelBox(low: low + offset, high: high + offset) }
}

extension SIMD2<Double> {
  var length: Double { (self * self).sum().squareRoot() }
}
