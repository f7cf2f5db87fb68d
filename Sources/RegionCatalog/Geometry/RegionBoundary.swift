public import TileIndex

/// A region's outline: polygons with holes, in WGS 84 degrees, as GeoJSON has them (RFC 7946).
public struct RegionBoundary: Hashable, Sendable {
  /// One ring: longitudes and latitudes, the last as the first.
  public typealias Ring = [SIMD2<Double>]

  /// Polygons; of each the outer ring first, then its holes.
  public let polygons: [[Ring]]

  /// The box around all rings.
  public let bounds: BoundingBox

  /// - Parameter polygons: at least one, none without rings.
  init(polygons: [[Ring]]) {
    self.polygons = polygons
    let points = polygons.lazy.flatMap { $0 }.flatMap { $0 }
    bounds = points.reduce(
      BoundingBox(west: .infinity, south: .infinity, east: -.infinity, north: -.infinity)
    ) { $0.union(BoundingBox(west: $1.x, south: $1.y, east: $1.x, north: $1.y)) }
  }

  /// The box of an area on both sides of the antimeridian, its west greater than its east; nil for an area on one side, and for one that goes all the way round.
  var boundsAcrossAntimeridian: BoundingBox? {
    guard bounds.west == -180, bounds.east == 180 else { return nil }
    // The widest stretch of longitudes without a polygon is what the box leaves out.
    var gap = -180.0 ... -180
    var end = -180.0
    for box in polygons.map({ BoundingBox(around: $0.flatMap { $0 }) }).sorted(by: { $0.west < $1.west }) {
      if box.west - end > gap.upperBound - gap.lowerBound { gap = end...box.west }
      end = max(end, box.east)
    }
    guard gap.upperBound > gap.lowerBound else { return nil }
    return BoundingBox(west: gap.upperBound, south: bounds.south, east: gap.lowerBound, north: bounds.north)
  }

  /// True when the place lies inside; holes are outside. On an edge either may be said.
  ///
  /// - Complexity: O(points).
  public func contains(longitude: Double, latitude: Double) -> Bool {
    polygons.contains { Polygon(rings: $0).contains(SIMD2(longitude, latitude)) }
  }
}

extension RegionBoundary: Codable {
  private enum Key: String, CodingKey { case type, coordinates }

  /// Writes a GeoJSON Polygon or MultiPolygon.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    let numbers = polygons.map { $0.map { $0.map { [$0.x, $0.y] } } }
    if numbers.count == 1 {
      try container.encode("Polygon", forKey: .type)
      try container.encode(numbers[0], forKey: .coordinates)
    } else {
      try container.encode("MultiPolygon", forKey: .type)
      try container.encode(numbers, forKey: .coordinates)
    }
  }

  /// Reads what ``encode(to:)`` writes.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let numbers =
      try container.decode(String.self, forKey: .type) == "Polygon"
      ? [container.decode([[[Double]]].self, forKey: .coordinates)]
      : container.decode([[[[Double]]]].self, forKey: .coordinates)
    let isWhole = !numbers.isEmpty && numbers.allSatisfy { !$0.isEmpty && $0.joined().allSatisfy { $0.count >= 2 } }
    guard isWhole else {
      throw DecodingError.dataCorruptedError(
        forKey: .coordinates, in: container, debugDescription: "are no polygons")
    }
    self.init(polygons: numbers.map { $0.map { $0.map { SIMD2($0[0], $0[1]) } } })
  }
}
