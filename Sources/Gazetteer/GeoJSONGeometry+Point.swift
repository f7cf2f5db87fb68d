import TileIndex

/// One point that stands for a geometry: where its name is written.
extension GeoJSONGeometry {
  /// A point of the geometry: the point itself, the middle of the longest line, a point inside the largest area. Nil for an empty collection.
  var representativePoint: SIMD2<Double>? {
    switch self {
    case .points(let points): points.first
    case .lines(let lines): lines.max { Self.length($0) < Self.length($1) }.map(Self.middle)
    case .polygons(let polygons): polygons.max { $0.size < $1.size }.map(\.innerPoint)
    case .collection(let parts): parts.lazy.compactMap(\.representativePoint).first
    }
  }

  /// In degrees, which is good enough to tell long lines from short ones.
  private static func length(_ line: [SIMD2<Double>]) -> Double {
    zip(line, line.dropFirst()).reduce(0) { $0 + distance($1.0, $1.1) }
  }

  private static func middle(_ line: [SIMD2<Double>]) -> SIMD2<Double> {
    var left = length(line) / 2
    for (a, b) in zip(line, line.dropFirst()) {
      let step = distance(a, b)
      if step >= left, step > 0 { return a + (b - a) * (left / step) }
      left -= step
    }
    return line[0]
  }

  private static func distance(_ a: SIMD2<Double>, _ b: SIMD2<Double>) -> Double {
    ((b - a) * (b - a)).sum().squareRoot()
  }
}

extension Polygon {
  /// Twice the area of the outer ring in square degrees, never negative.
  fileprivate var size: Double {
    abs(zip(rings[0], rings[0].dropFirst()).reduce(0) { $0 + ($1.0.x * $1.1.y - $1.1.x * $1.0.y) })
  }

  /// The centre of gravity of the outer ring where that lies inside; otherwise the middle of the widest stretch at the height of the ring's middle.
  fileprivate var innerPoint: SIMD2<Double> {
    let origin = rings[0][0]
    var sum = SIMD2(0.0, 0.0)
    var area = 0.0
    for (a, b) in zip(rings[0], rings[0].dropFirst()) {
      let (a, b) = (a - origin, b - origin)
      let cross = a.x * b.y - b.x * a.y
      area += cross
      sum += (a + b) * cross
    }
    let centre = area == 0 ? bounds.centre : origin + sum / (3 * area)
    if contains(centre) { return centre }
    let height = bounds.centre.y
    var crossings: [Double] = []
    for ring in rings {
      for (a, b) in zip(ring, ring.dropFirst()) where (a.y > height) != (b.y > height) {
        crossings.append(a.x + (height - a.y) / (b.y - a.y) * (b.x - a.x))
      }
    }
    crossings.sort()
    let stretches = stride(from: 0, to: crossings.count - 1, by: 2).map { (crossings[$0], crossings[$0 + 1]) }
    guard let widest = stretches.max(by: { $0.1 - $0.0 < $1.1 - $1.0 }) else { return rings[0][0] }
    return SIMD2((widest.0 + widest.1) / 2, height)
  }
}
