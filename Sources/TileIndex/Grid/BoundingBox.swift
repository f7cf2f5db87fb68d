/// An axis-aligned box. Units are those of the coordinates it was made from: degrees (WGS 84, longitude first) or the CRS units of a tile matrix set.
public struct BoundingBox: Hashable, Sendable {
  public var west: Double
  public var south: Double
  public var east: Double
  public var north: Double

  public init(west: Double, south: Double, east: Double, north: Double) {
    self.west = west
    self.south = south
    self.east = east
    self.north = north
  }

  public var width: Double { east - west }
  public var height: Double { north - south }
}

extension BoundingBox {
  /// The smallest box around some points.
  ///
  /// - Precondition: there is one.
  package init(around points: [SIMD2<Double>]) {
    self.init(west: points[0].x, south: points[0].y, east: points[0].x, north: points[0].y)
    for point in points {
      west = min(west, point.x)
      south = min(south, point.y)
      east = max(east, point.x)
      north = max(north, point.y)
    }
  }
}
