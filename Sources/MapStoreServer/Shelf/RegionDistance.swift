import RegionCatalog
import TileIndex

/// How far a region is from a place.
///
/// Measured on the plane that touches the sphere at the place, so near regions are exact to a thousandth, and far ones are in a sensible order.
enum RegionDistance {
  /// Degrees.
  struct Place: Hashable, Sendable {
    var longitude: Double
    var latitude: Double
  }

  /// Of a degree of a meridian of the sphere with the earth's mean radius.
  private static let metresPerDegree = 111_195.0

  /// To the region's outline, or its box where it has none; 0 inside.
  ///
  /// - Complexity: O(points of the outline).
  static func metres(from place: Place, to region: Catalogue.Region) -> Double {
    if let boundary = region.boundary {
      if turns(of: place).contains(where: { boundary.contains(longitude: $0.x, latitude: $0.y) }) { return 0 }
      return boundary.polygons.joined().map { metres(from: place, to: $0) }.min() ?? .infinity
    }
    let (west, south, east, north) = (
      region.bounds[0], region.bounds[1], region.bounds[2], region.bounds[3]
    )
    // A box across the antimeridian is compared as one.
    let eastFromWest = east < west ? east + 360 : east
    let beyond = turns(of: place).map { max(west - $0.x, $0.x - eastFromWest, 0) }.min() ?? 0
    let above = max(south - place.latitude, place.latitude - north, 0)
    return length(SIMD2(beyond, above), at: place)
  }

  /// The place, and the same a turn to either side: outlines may go beyond the antimeridian.
  private static func turns(of place: Place) -> [SIMD2<Double>] {
    [0.0, -360, 360].map { SIMD2(place.longitude + $0, place.latitude) }
  }

  private static func metres(from place: Place, to ring: RegionBoundary.Ring) -> Double {
    let scale = SIMD2(cosine(ofDegrees: place.latitude), 1)
    var least = Double.infinity
    for point in turns(of: place) {
      for (a, b) in zip(ring, ring.dropFirst()) {
        let (edge, offset) = ((b - a) * scale, (point - a) * scale)
        let square = (edge * edge).sum()
        let along = square > 0 ? min(max((offset * edge).sum() / square, 0), 1) : 0
        let rest = offset - edge * along
        least = min(least, (rest * rest).sum())
      }
    }
    return least.squareRoot() * metresPerDegree
  }

  private static func length(_ degrees: SIMD2<Double>, at place: Place) -> Double {
    let scaled = degrees * SIMD2(cosine(ofDegrees: place.latitude), 1)
    return (scaled * scaled).sum().squareRoot() * metresPerDegree
  }

  /// By its series; exact to a thousandth up to the poles, where nothing is sold.
  private static func cosine(ofDegrees degrees: Double) -> Double {
    let x = degrees * .pi / 180
    let square = x * x
    return max(0, 1 - square / 2 + square * square / 24 - square * square * square / 720)
  }
}
