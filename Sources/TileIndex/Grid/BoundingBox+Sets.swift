extension BoundingBox {
  /// All longitudes and latitudes, in degrees.
  public static let world = BoundingBox(west: -180, south: -90, east: 180, north: 90)

  /// The centre.
  public var centre: SIMD2<Double> { SIMD2(west + (east - west) / 2, south + (north - south) / 2) }

  /// The part that both boxes have, or nil when they do not even touch. Boxes that only touch share an edge or a corner.
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

  /// True when the point lies inside or on the edge.
  public func contains(_ point: SIMD2<Double>) -> Bool {
    point.x >= west && point.x <= east && point.y >= south && point.y <= north
  }
}
