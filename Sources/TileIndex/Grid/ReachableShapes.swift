/// Shapes in degrees, cut to what a set may show of them. Beyond its area a fitted CRS has no exact points, and on the
/// other side of the Earth none that make sense.
extension TileMatrixSet {
  /// The parts of a closed ring; the ring itself in Web Mercator and degrees.
  package func reachable(ring: [SIMD2<Double>]) -> [[SIMD2<Double>]] {
    guard case .fitted(let crs) = projection else { return [ring] }
    return crs.windows(ring).compactMap { window in
      var ring = ring
      for side in window.sides {
        var kept: [SIMD2<Double>] = []
        for (a, b) in zip(ring, ring.dropFirst()) {
          if side.contains(a) { kept.append(a) }
          if side.contains(a) != side.contains(b) { kept.append(side.crossing(a, b)) }
        }
        guard let first = kept.first else { return nil }
        ring = kept + [first]
      }
      return ring.count > 3 ? ring : nil
    }
  }

  /// The parts of a line; the line itself in Web Mercator and degrees.
  package func reachable(line: [SIMD2<Double>]) -> [[SIMD2<Double>]] {
    guard case .fitted(let crs) = projection else { return [line] }
    return crs.windows(line).flatMap { window in
      window.sides.reduce([line]) { lines, side in lines.flatMap { side.parts(of: $0) } }
    }
  }

  /// Whether the set may show a position.
  package func isReachable(_ place: SIMD2<Double>) -> Bool {
    guard case .fitted(let crs) = projection else { return true }
    return !crs.windows([place]).isEmpty
  }
}

extension FittedCRS {
  /// A box of degrees.
  fileprivate struct Window {
    let sides: [Side]
  }

  /// The places on one side of a meridian or parallel.
  fileprivate struct Side {
    /// 0 for longitudes, 1 for latitudes.
    let axis: Int
    let limit: Double
    let isLeast: Bool

    func contains(_ place: SIMD2<Double>) -> Bool { isLeast ? place[axis] >= limit : place[axis] <= limit }

    func crossing(_ a: SIMD2<Double>, _ b: SIMD2<Double>) -> SIMD2<Double> {
      var crossing = a + (b - a) * ((limit - a[axis]) / (b[axis] - a[axis]))
      crossing[axis] = limit
      return crossing
    }

    func parts(of line: [SIMD2<Double>]) -> [[SIMD2<Double>]] {
      var parts: [[SIMD2<Double>]] = []
      var part: [SIMD2<Double>] = []
      for (index, place) in line.enumerated() {
        let isInside = contains(place)
        if index > 0, contains(line[index - 1]) != isInside { part.append(crossing(line[index - 1], place)) }
        if isInside {
          part.append(place)
        } else if !part.isEmpty {
          parts.append(part)
          part = []
        }
      }
      return part.isEmpty ? parts : parts + [part]
    }
  }

  /// The windows onto ``reach`` in the turns of the Earth in which a shape has its longitudes; one without limits in
  /// the west and the east if it spans them all. None for a shape that lies elsewhere.
  fileprivate func windows(_ shape: [SIMD2<Double>]) -> [Window] {
    guard let first = shape.first, shape.allSatisfy({ $0.x.isFinite && $0.y.isFinite }) else { return [] }
    let around = shape.reduce(BoundingBox(around: [first])) { $0.union(BoundingBox(around: [$1])) }
    guard around.south <= reach.north, around.north >= reach.south else { return [] }
    var sides: [Side] = []
    if reach.south > -90 { sides.append(Side(axis: 1, limit: reach.south, isLeast: true)) }
    if reach.north < 90 { sides.append(Side(axis: 1, limit: reach.north, isLeast: false)) }
    guard reach.width < 360 else { return [Window(sides: sides)] }
    return [-720.0, -360, 0, 360, 720].compactMap { turn in
      let (west, east) = (reach.west + turn, reach.east + turn)
      guard around.west <= east, around.east >= west else { return nil }
      return Window(
        sides: sides + [
          Side(axis: 0, limit: west, isLeast: true), Side(axis: 0, limit: east, isLeast: false),
        ])
    }
  }
}
