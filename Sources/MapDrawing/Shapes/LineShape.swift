import LibC
import TileIndex

/// A line or a ring in pixels of a zoom, counted from the grid's top left corner.
///
/// It does not depend on tiles: each tile draws its part of the same points, so lines cross edges without a seam.
struct LineShape: Sendable {
  let points: [SIMD2<Double>]
  let low: SIMD2<Double>
  let high: SIMD2<Double>
  /// Whether it bounds an area. A line that ends where it begins does not.
  let isRing: Bool
  /// The way from the first point to each, in pixels; empty until ``measured()``.
  private(set) var lengths: [Double] = []

  /// Whether it ends where it begins.
  var isClosed: Bool { points.count > 3 && points[0] == points[points.count - 1] }

  /// The largest distance of a point that is left out from the line without it, in pixels.
  private static let tolerance = 0.15
  /// Longer segments are divided, far below the limit of cairo's numbers.
  private static let segmentMax = 32_768.0

  /// - Parameters:
  ///   - degrees: longitudes and latitudes; segments are straight between them.
  ///   - isRing: whether it is a ring of a polygon.
  /// - Returns: nil if no point has an image.
  init?(_ degrees: [SIMD2<Double>], matrixSet: TileMatrixSet, zoom: Int, isRing: Bool = false) {
    let matrix = matrixSet[zoom]
    let pixels = ProjectedRing.pixels(degrees) { points in
      for i in points.indices { points[i] = matrix.pixelCoordinates(of: matrixSet.unwrappedPoint(points[i])) }
    }
    self.init(
      pixels: Self.divided(Self.simplified(pixels.filter { $0.x.isFinite && $0.y.isFinite })), isRing: isRing)
  }

  private init?(pixels: [SIMD2<Double>], isRing: Bool) {
    guard let box = PixelBox(around: pixels) else { return nil }
    (points, low, high, self.isRing) = (pixels, box.low, box.high, isRing)
  }

  /// The same with its ``lengths``, which dashes need.
  func measured() -> LineShape {
    var shape = self
    shape.lengths = Self.lengths(along: points)
    return shape
  }

  /// The line beside this one. Corners are mitered; those that would reach far beyond the offset are cut off.
  ///
  /// - Parameters:
  ///   - offset: in pixels: to the right of a line, to the inside of a polygon's ring; negative for the other side.
  ///   - isHole: whether a ring is a hole of the polygon, so that the polygon's inside is outside of the ring.
  func moved(aside offset: Double, isHole: Bool) -> LineShape? {
    let isClosed = isClosed
    var offset = offset
    if isClosed, isRing {
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
      let before = index > 0 ? sides[index - 1] : isClosed ? last : first
      let after = index < sides.count ? sides[index] : isClosed ? first : last
      let middle = before + after
      // Half the square of the middle's length is 1 plus the cosine of the bend.
      let share = (middle * middle).sum() / 2
      if share > 0.5 {
        moved.append(point + middle * (offset / share))
      } else {
        moved += [point + before * offset, point + after * offset]
      }
    }
    if isClosed, moved.count > 1, moved[0] != moved[moved.count - 1] { moved.append(moved[0]) }
    return LineShape(pixels: moved, isRing: isRing)
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

  /// How far from a box points of ``reduced(to:)`` may lie: beyond the longest segment.
  private static let farthest = 65_536.0

  /// The ring without what lies outside of a box. No point within it is moved and none is added, so that each tile
  /// fills the same pixels.
  func reduced(to box: PixelBox) -> [SIMD2<Double>] {
    if low.x >= box.low.x, low.y >= box.low.y, high.x <= box.high.x, high.y <= box.high.y { return points }
    var kept: [(point: SIMD2<Double>, sides: UInt8)] = []
    for point in points {
      let sides = box.sides(of: point)
      // Points in a row on one side of the box: the segment from the first to the last lies there, too.
      while kept.count > 1, kept[kept.count - 1].sides & kept[kept.count - 2].sides & sides != 0 { kept.removeLast() }
      kept.append((point, sides))
    }
    let (least, most) = (box.low - Self.farthest, box.high + Self.farthest)
    return kept.map { pointwiseMin(pointwiseMax($0.point, least), most) }
  }
}
