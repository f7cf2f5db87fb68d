/// An area with straight edges in degrees: an outer ring and holes. Which ring is which way round does not matter; what an odd number of rings encloses is inside.
package struct Polygon: Hashable, Sendable {
  /// Longitude and latitude; each ring is closed and has four positions or more. The first is the outer one.
  package let rings: [[SIMD2<Double>]]
  /// The box around the outer ring.
  package let bounds: BoundingBox

  package init(rings: [[SIMD2<Double>]]) {
    self.rings = rings
    bounds = BoundingBox(around: rings[0])
  }

  /// True for places inside; for those on an edge either may be said.
  ///
  /// - Complexity: O(edges).
  package func contains(_ point: SIMD2<Double>) -> Bool {
    guard bounds.contains(point) else { return false }
    var isInside = false
    for ring in rings {
      for (a, b) in zip(ring, ring.dropFirst()) where (a.y > point.y) != (b.y > point.y) {
        if point.x < a.x + (point.y - a.y) / (b.y - a.y) * (b.x - a.x) { isInside.toggle() }
      }
    }
    return isInside
  }

  /// True when the area and a box have more than an edge in common, or an edge of the area touches the box.
  ///
  /// - Complexity: O(edges).
  package func intersects(_ box: BoundingBox) -> Bool {
    guard bounds.intersection(box) != nil else { return false }
    for ring in rings {
      for (a, b) in zip(ring, ring.dropFirst()) where Self.meets(a, b, box) { return true }
    }
    // No edge comes near: the box lies wholly inside or wholly outside.
    return contains(box.centre)
  }

  /// True when a part of the line lies in the box (Liang and Barsky's clipping).
  private static func meets(_ a: SIMD2<Double>, _ b: SIMD2<Double>, _ box: BoundingBox) -> Bool {
    var (start, end) = (0.0, 1.0)
    let step = b - a
    for (delta, room) in [
      (-step.x, a.x - box.west), (step.x, box.east - a.x), (-step.y, a.y - box.south), (step.y, box.north - a.y),
    ] {
      if delta == 0 {
        if room < 0 { return false }
      } else if delta < 0 {
        start = max(start, room / delta)
      } else {
        end = min(end, room / delta)
      }
    }
    return start <= end
  }
}
