package import TileIndex

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

  /// On which sides of the box a point lies, a bit for each; 0 within it.
  func sides(of point: SIMD2<Double>) -> UInt8 {
    (point.x < low.x ? 1 : 0) | (point.x > high.x ? 2 : 0) | (point.y < low.y ? 4 : 0) | (point.y > high.y ? 8 : 0)
  }

  func union(_ other: PixelBox) -> PixelBox {
    PixelBox(low: pointwiseMin(low, other.low), high: pointwiseMax(high, other.high))
  }
  func expanded(by margin: Double) -> PixelBox { PixelBox(low: low - margin, high: high + margin) }
  func moved(by offset: SIMD2<Double>) -> PixelBox { PixelBox(low: low + offset, high: high + offset) }

  /// The box on a world of some width, in two parts if it lies across the world's edge.
  ///
  /// - Parameter turn: 0 for a world that has an end.
  package func wrapped(_ turn: Double) -> [PixelBox] {
    guard turn > 0 else { return [self] }
    let box = moved(by: SIMD2(-(low.x / turn).rounded(.down) * turn, 0))
    guard box.high.x > turn else { return [box] }
    // The edge itself is on both sides.
    let margin = 1e-3
    return [
      PixelBox(low: box.low, high: SIMD2(max(turn - margin, box.low.x), box.high.y)),
      PixelBox(low: SIMD2(min(margin, box.high.x - turn), box.low.y), high: SIMD2(box.high.x - turn, box.high.y)),
    ]
  }
}

extension TileMatrixSet {
  /// The width of the world in pixels of a zoom: what reaches beyond one edge is seen at the other. 0 for a grid that
  /// does not go around.
  package func turn(zoom: Int) -> Double {
    isGlobal ? Double(self[zoom].matrixWidth * self[zoom].tileWidth) : 0
  }
}

extension SIMD2<Double> {
  var length: Double { (self * self).sum().squareRoot() }
}
