/// Boxes in CRS units as boxes in degrees and the reverse. Edges of the one are curves in the other, so they are
/// sampled, and where a curve turns its vertex is estimated.
extension FittedCRS {
  /// A box of CRS units in degrees; the part of it in ``box`` counts.
  ///
  /// - Returns: the west is in -180...180; the east is beyond 180 for a box across the antimeridian. A box with a pole
  ///   has all longitudes, from -180 to 180.
  func geographicBounds(of other: BoundingBox) -> BoundingBox {
    let part = other.intersection(box) ?? BoundingBox(around: [clamped(other.centre)])
    let slack = 1e-9 * max(box.width, box.height)
    var longitudes: [[Double]] = []
    var latitudes: [[Double]] = []
    var last: Double?
    for side in Self.sides(of: part, steps: steps(of: part)) {
      var (xs, ys): ([Double], [Double]) = ([], [])
      for point in side {
        var place = coordinate(of: point)
        ys.append(place.latitude)
        if 90 - abs(place.latitude) < 2 * Self.poleRadius * (180 / .pi) { continue }
        if let last { place.longitude += 360 * ((last - place.longitude) / 360).rounded() }
        last = place.longitude
        xs.append(place.longitude)
      }
      longitudes.append(xs)
      latitudes.append(ys)
    }
    let (south, north) = Self.extremes(latitudes) ?? (-90, 90)
    var bounds = BoundingBox(west: -180, south: max(south, -90), east: 180, north: min(north, 90))
    var isAround = false
    for pole in poles where part.contains(pole.point, slack: slack) {
      if pole.latitude > 0 { bounds.north = 90 } else { bounds.south = -90 }
      // At a corner of the box a pole adds no longitudes.
      let atSide = min(abs(pole.point.x - part.west), abs(pole.point.x - part.east)) <= slack
      let atEnd = min(abs(pole.point.y - part.south), abs(pole.point.y - part.north)) <= slack
      if !(atSide && atEnd) { isAround = true }
    }
    guard !isAround, let (west, east) = Self.extremes(longitudes), east - west < 360 - 1e-9 else { return bounds }
    let turn = 360 * ((west + 180) / 360).rounded(.down)
    (bounds.west, bounds.east) = (west - turn, east - turn)
    // An edge on the antimeridian may have been either end of it.
    if bounds.east - 360 > -180, bounds.west > 180 - 1e-9 {
      (bounds.west, bounds.east) = (bounds.west - 360, bounds.east - 360)
    }
    return bounds
  }

  /// The box in CRS units around the part of ``box`` that lies in a box of degrees; nil if there is none.
  ///
  /// - Parameter degrees: a west greater than the east crosses the antimeridian; longitudes may lie beyond ±180.
  func bounds(ofGeographic degrees: BoundingBox) -> BoundingBox? {
    var degrees = degrees
    if degrees.west > degrees.east { degrees.east += 360 }
    degrees.east = min(degrees.east, degrees.west + 360)
    (degrees.south, degrees.north) = (max(degrees.south, -90), min(degrees.north, 90))
    guard degrees.south <= degrees.north, degrees.west.isFinite, degrees.east.isFinite else { return nil }
    var (xs, ys): ([[Double]], [[Double]]) = ([], [])
    func add(_ run: [SIMD2<Double>]) {
      guard !run.isEmpty else { return }
      xs.append(run.map(\.x))
      ys.append(run.map(\.y))
    }
    func image(_ place: SIMD2<Double>) -> SIMD2<Double> { point(longitude: place.x, latitude: place.y) }
    let steps = min(max(Int(max(degrees.width, degrees.height)), 16), 180)
    for side in Self.sides(of: degrees, steps: SIMD2(steps, steps)) {
      var run: [SIMD2<Double>] = []
      var last: (place: SIMD2<Double>, isInside: Bool)?
      for place in side {
        let point = image(place)
        let isInside = contains(point)
        if let last, last.isInside != isInside {
          // Where the edge crosses that of the box.
          var (inside, outside) = isInside ? (place, last.place) : (last.place, place)
          for _ in 0..<40 {
            let middle = (inside + outside) / 2
            if contains(image(middle)) { inside = middle } else { outside = middle }
          }
          add([image(inside)])
        }
        if isInside {
          run.append(point)
        } else {
          add(run)
          run = []
        }
        last = (place, isInside)
      }
      add(run)
    }
    for side in Self.sides(of: box, steps: SIMD2(64, 64)) {
      for point in side {
        let place = coordinate(of: point)
        guard place.latitude >= degrees.south, place.latitude <= degrees.north else { continue }
        let longitude = place.longitude - 360 * ((place.longitude - degrees.west) / 360).rounded(.down)
        if longitude <= degrees.east { add([point]) }
      }
    }
    for pole in poles where pole.latitude >= degrees.south && pole.latitude <= degrees.north { add([pole.point]) }
    guard let (west, east) = Self.extremes(xs), let (south, north) = Self.extremes(ys) else { return nil }
    return BoundingBox(west: west, south: south, east: east, north: north).intersection(box)
  }

  /// A box without width and height, outside of ``box``.
  var nowhere: BoundingBox { BoundingBox(around: [SIMD2(box.east + 2 * box.width, box.north + 2 * box.height)]) }

  /// More steps for larger parts of the box.
  private func steps(of part: BoundingBox) -> SIMD2<Int> {
    SIMD2(4 + Int(28 * part.width / box.width), 4 + Int(28 * part.height / box.height))
  }

  /// Points along the four edges of a box, from the south west and back to it.
  private static func sides(of box: BoundingBox, steps: SIMD2<Int>) -> [[SIMD2<Double>]] {
    let corners = [
      SIMD2(box.west, box.south), SIMD2(box.east, box.south), SIMD2(box.east, box.north), SIMD2(box.west, box.north),
    ]
    return (0..<4).map { side in
      let (a, b) = (corners[side], corners[(side + 1) % 4])
      let count = side % 2 == 0 ? steps.x : steps.y
      return (0...count).map { $0 == count ? b : a + (b - a) * (Double($0) / Double(count)) }
    }
  }

  /// The least and the largest value of curves that were sampled at even steps; at a sample that its neighbours do not
  /// reach, of the parabola through the three. Nil without samples.
  private static func extremes(_ curves: [[Double]]) -> (least: Double, largest: Double)? {
    var (least, largest) = (Double.infinity, -Double.infinity)
    for curve in curves {
      for (index, value) in curve.enumerated() {
        (least, largest) = (min(least, value), max(largest, value))
        guard index > 0, index + 1 < curve.count else { continue }
        let (before, after) = (curve[index - 1], curve[index + 1])
        let bend = before - 2 * value + after
        guard (value - before) * (after - value) <= 0, bend != 0 else { continue }
        let vertex = value - (after - before) * (after - before) / (8 * bend)
        (least, largest) = (min(least, vertex), max(largest, vertex))
      }
    }
    return least <= largest ? (least, largest) : nil
  }
}

extension BoundingBox {
  /// The box, or all longitudes if it reaches beyond the antimeridian.
  var withinAntimeridian: BoundingBox {
    let reachesBeyond = west < -180 - 1e-9 || east > 180 + 1e-9
    return BoundingBox(
      west: reachesBeyond ? -180 : max(west, -180), south: south, east: reachesBeyond ? 180 : min(east, 180),
      north: north)
  }

  fileprivate func contains(_ point: SIMD2<Double>, slack: Double) -> Bool {
    point.x >= west - slack && point.x <= east + slack && point.y >= south - slack && point.y <= north + slack
  }
}
