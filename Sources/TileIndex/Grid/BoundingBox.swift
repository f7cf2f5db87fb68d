/// An axis-aligned box, in degrees (WGS 84, longitude first) or in the CRS units of a tile matrix set.
///
/// Grids also take boxes across the antimeridian as GeoJSON writes them, with a west greater than the east. What a box
/// computes itself needs a west below the east: add 360 to the east of such a box before.
public struct BoundingBox: Hashable, Sendable {
  /// The western edge.
  public var west: Double
  /// The southern edge.
  public var south: Double
  /// The eastern edge.
  public var east: Double
  /// The northern edge.
  public var north: Double

  /// A box by its edges, which are not checked.
  public init(west: Double, south: Double, east: Double, north: Double) {
    self.west = west
    self.south = south
    self.east = east
    self.north = north
  }

  /// From west to east; negative for a west greater than the east.
  public var width: Double { east - west }
  /// From south to north.
  public var height: Double { north - south }
}

extension BoundingBox {
  /// The smallest box around some points.
  ///
  /// - Precondition: there is at least one point.
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

extension BoundingBox: Codable {
  /// Decodes `[west, south, east, north]`, as in GeoJSON (RFC 7946, section 5) and TileJSON.
  public init(from decoder: any Decoder) throws {
    var numbers = try decoder.unkeyedContainer()
    func next() throws -> Double { try numbers.decode(Double.self) }
    self.init(west: try next(), south: try next(), east: try next(), north: try next())
    guard numbers.isAtEnd else {
      throw DecodingError.dataCorruptedError(in: numbers, debugDescription: "a box has four numbers")
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var numbers = encoder.unkeyedContainer()
    for number in [west, south, east, north] { try numbers.encode(number) }
  }
}

extension BoundingBox {
  /// All longitudes and latitudes, in degrees.
  public static let world = BoundingBox(west: -180, south: -90, east: 180, north: 90)

  /// The centre, of a box with west below east.
  public var centre: SIMD2<Double> { SIMD2(west + (east - west) / 2, south + (north - south) / 2) }

  /// The common part of both boxes, or nil. Boxes that only touch share an edge or a corner.
  public func intersection(_ other: BoundingBox) -> BoundingBox? {
    let box = BoundingBox(
      west: max(west, other.west), south: max(south, other.south), east: min(east, other.east),
      north: min(north, other.north))
    return box.west <= box.east && box.south <= box.north ? box : nil
  }

  /// The smallest box around both.
  public func union(_ other: BoundingBox) -> BoundingBox {
    BoundingBox(
      west: min(west, other.west), south: min(south, other.south), east: max(east, other.east),
      north: max(north, other.north))
  }

  /// True when the point lies inside or on the edge; never for a west greater than the east. Longitudes are not
  /// wrapped.
  public func contains(_ point: SIMD2<Double>) -> Bool {
    point.x >= west && point.x <= east && point.y >= south && point.y <= north
  }
}
