import LibC
package import TileIndex

/// CRSs on a sphere, for grids in other CRSs than Web Mercator and degrees without PROJ.
package enum SphereCRS: String, CaseIterable, Sendable {
  /// Stereographic around the north pole; longitude 0 is downwards.
  case polar = "EPSG:3995"
  /// Lambert's equal areas around 52° north and 10° east; north comes first.
  case europe = "EPSG:3035"
  /// Transverse Mercator at 9° east.
  case zone = "EPSG:32632"
  /// Transverse Mercator at 180°, so that the antimeridian is in the middle.
  case pacific = "EPSG:32660"

  package static let radius = 6_371_000.0

  package var definition: CRSDefinition {
    CRSDefinition(
      code: rawValue, name: "sphere \(self)", wkt: "PROJCS[\"sphere \(self)\"]", metresPerUnit: 1,
      isNorthFirst: self == .europe, axes: self == .europe ? ["Y", "X"] : ["E", "N"], areaOfUse: areaOfUse,
      toDegrees: { $0.map(degrees) }, fromDegrees: { $0.map(point) })
  }

  private var areaOfUse: BoundingBox {
    switch self {
    case .polar: BoundingBox(west: -180, south: 60, east: 180, north: 90)
    case .europe: BoundingBox(west: -35.58, south: 24.6, east: 44.83, north: 84.73)
    case .zone: BoundingBox(west: 6, south: 0, east: 12, north: 84)
    case .pacific: BoundingBox(west: 177, south: 0, east: -177, north: 84)
    }
  }

  /// A box in CRS units in which a map may lie.
  package var box: BoundingBox {
    switch self {
    case .polar: BoundingBox(west: -4_194_304, south: -4_194_304, east: 4_194_304, north: 4_194_304)
    case .europe: BoundingBox(west: 2_000_000, south: 1_000_000, east: 6_500_000, north: 5_500_000)
    case .zone, .pacific: BoundingBox(west: 0, south: 3_000_000, east: 1_000_000, north: 8_000_000)
    }
  }

  /// A set of eight levels of 256 pixels that fill the box.
  package func matrixSet() throws -> TileMatrixSet {
    let crs = try FittedCRS(definition, box: box)
    let span = min(box.width, box.height)
    return try TileMatrixSet(
      identifier: "\(self)", uri: "urn:test:\(self)", projection: .fitted(crs), boundingBox: box,
      matrices: (0..<8).map { zoom in
        TileMatrix(
          identifier: "\(zoom)", cellSize: span / Double(256 << zoom), metresPerUnit: 1,
          origin: SIMD2(box.west, box.north), matrixWidth: Int(box.width / span) << zoom,
          matrixHeight: Int(box.height / span) << zoom)
      })
  }

  /// Longitude and latitude in degrees.
  package func degrees(_ point: SIMD2<Double>) -> SIMD2<Double> {
    let (x, y) = (point.x / Self.radius, point.y / Self.radius)
    let (longitude, latitude): (Double, Double)
    switch self {
    case .polar:
      let rho = (x * x + y * y).squareRoot()
      (longitude, latitude) = (atan2(x, -y), .pi / 2 - 2 * atan(rho / 2))
    case .europe:
      let (u, v) = (x - 4_321_000 / Self.radius, y - 3_210_000 / Self.radius)
      let rho = (u * u + v * v).squareRoot()
      let (c, phi) = (2 * asin(min(rho / 2, 1)), 52 * Double.pi / 180)
      guard rho > 0 else { return SIMD2(10, 52) }
      latitude = asin(cos(c) * sin(phi) + v * sin(c) * cos(phi) / rho)
      longitude = 10 * .pi / 180 + atan2(u * sin(c), rho * cos(phi) * cos(c) - v * sin(phi) * sin(c))
    case .zone, .pacific:
      let u = x - 500_000 / Self.radius
      longitude = meridian + atan2(sinh(u), cos(y))
      latitude = asin(sin(y) / cosh(u))
    }
    var degrees = SIMD2(longitude, latitude) * (180 / .pi)
    if degrees.x > 180 { degrees.x -= 360 }
    return degrees
  }

  package func point(_ degrees: SIMD2<Double>) -> SIMD2<Double> {
    let (lambda, phi) = (degrees.x * .pi / 180, degrees.y * .pi / 180)
    switch self {
    case .polar:
      let rho = 2 * tan((.pi / 2 - phi) / 2)
      return SIMD2(rho * sin(lambda), -rho * cos(lambda)) * Self.radius
    case .europe:
      let (l, phi0) = (lambda - 10 * .pi / 180, 52 * Double.pi / 180)
      let k = (2 / (1 + sin(phi0) * sin(phi) + cos(phi0) * cos(phi) * cos(l))).squareRoot()
      return SIMD2(4_321_000, 3_210_000) + SIMD2(
        k * cos(phi) * sin(l), k * (cos(phi0) * sin(phi) - sin(phi0) * cos(phi) * cos(l))) * Self.radius
    case .zone, .pacific:
      let l = lambda - meridian
      return SIMD2(500_000, 0) + SIMD2(atanh(cos(phi) * sin(l)), atan2(tan(phi), cos(l))) * Self.radius
    }
  }

  private var meridian: Double { (self == .zone ? 9 : 180) * .pi / 180 }
}
