import LibC

/// What is known of a CRS where it can be computed with: by PROJ, in tilecut.
package struct CRSDefinition {
  /// Authority and code, such as `EPSG:2056`.
  package var code: String
  package var name: String
  /// WKT 1.
  package var wkt: String?
  package var metresPerUnit: Double
  /// True if the authority puts north, or latitude, first.
  package var isNorthFirst: Bool
  /// The authority's abbreviations of the axes in its order, such as `E` and `N`.
  package var axes: [String]
  /// In degrees; the west may be greater than the east. Nil if it is not known.
  package var areaOfUse: BoundingBox?
  /// Points in CRS units, x first, as longitudes and latitudes; NaN for those without.
  package var toDegrees: ([SIMD2<Double>]) -> [SIMD2<Double>]
  /// The inverse.
  package var fromDegrees: ([SIMD2<Double>]) -> [SIMD2<Double>]

  package init(
    code: String, name: String, wkt: String?, metresPerUnit: Double, isNorthFirst: Bool, axes: [String],
    areaOfUse: BoundingBox?, toDegrees: @escaping ([SIMD2<Double>]) -> [SIMD2<Double>],
    fromDegrees: @escaping ([SIMD2<Double>]) -> [SIMD2<Double>]
  ) {
    (self.code, self.name, self.wkt, self.metresPerUnit) = (code, name, wkt, metresPerUnit)
    (self.isNorthFirst, self.axes, self.areaOfUse) = (isNorthFirst, axes, areaOfUse)
    (self.toDegrees, self.fromDegrees) = (toDegrees, fromDegrees)
  }

  /// The box in CRS units of the area of use, with as much again on each side as half of its shorter edge: maps reach
  /// beyond the edges of their zone. Nil if there is none.
  var boxOfUse: BoundingBox? {
    guard var area = areaOfUse else { return nil }
    if area.west > area.east { area.east += 360 }
    let shares = (0...32).map { Double($0) / 32 }
    let places = shares.flatMap { y in
      shares.map { SIMD2(area.west + $0 * area.width, area.south + y * area.height) }
    }
    let points = fromDegrees(places).filter { $0.x.isFinite && $0.y.isFinite }
    guard !points.isEmpty else { return nil }
    let box = BoundingBox(around: points)
    let margin = min(box.width, box.height) / 2
    return BoundingBox(
      west: box.west - margin, south: box.south - margin, east: box.east + margin, north: box.north + margin)
  }
}

/// Finds a CRS by authority and code.
package typealias CRSLookup = (_ code: String) throws -> CRSDefinition

extension FittedCRS {
  private static let degrees = [8, 12, 16, 24, 32, 48]

  /// Fits the relation of a CRS to degrees within a box.
  ///
  /// The series of lowest degree is taken that is within the tolerance of the CRS between the points that it was fitted
  /// to. Where the shifts of a datum come from a grid, which is not smooth, half a metre has to do.
  /// - Throws: ``GridError`` with `.invalidMatrixSet` where the CRS does not reach all of the box or none is.
  package init(_ crs: CRSDefinition, box: BoundingBox) throws(GridError) {
    let tolerance = Self.tolerance(of: box, metresPerUnit: crs.metresPerUnit)
    var rough: FittedCRS?
    for count in Self.degrees {
      let values = try Self.onSphere(Self.points(in: box, at: ChebyshevSurface.nodes(count)), crs)
      for threshold in [tolerance / 30, tolerance / 1000] {
        let surface = ChebyshevSurface(through: values, count: count, threshold: threshold / Self.radius)
        guard
          let fitted = try? FittedCRS(
            code: crs.code, name: crs.name, wkt: crs.wkt, metresPerUnit: crs.metresPerUnit,
            isNorthFirst: crs.isNorthFirst, box: box, surface: surface)
        else { continue }
        let error = try fitted.error(against: crs, count: 2 * count + 3)
        if error <= tolerance {
          self = fitted
          return
        }
        if error <= 0.5, rough == nil { rough = fitted }
      }
    }
    guard let rough else { throw Self.tooLarge(crs) }
    self = rough
  }

  /// The largest distance in metres from the CRS over a mesh of the box, edges included.
  ///
  /// - Throws: ``GridError`` where the CRS does not map a point of the box back to itself.
  func error(against crs: CRSDefinition, count: Int) throws(GridError) -> Double {
    let shares = (0..<count).map { 2 * Double($0) / Double(count - 1) - 1 }
    let points = Self.points(in: box, at: shares)
    let degrees = crs.toDegrees(points)
    let back = crs.fromDegrees(degrees)
    // A turn more or less is the same meridian, at the edge of a cylindrical projection.
    let slack = 1e-6 * max(box.width, box.height)
    for (point, image) in zip(points, back) {
      let away = SIMD2(abs(image.x - point.x), abs(image.y - point.y))
      guard away.y <= slack, away.x <= slack || abs(away.x - box.width) <= slack else { throw Self.tooLarge(crs) }
    }
    var largest = 0.0
    for (point, degrees) in zip(points, degrees) {
      let ours = coordinate(of: point)
      let away = Self.onSphere(degrees) - Self.onSphere(SIMD2(ours.longitude, ours.latitude))
      largest = max(largest, (away * away).sum().squareRoot() * Self.radius)
    }
    return largest
  }

  private static func points(in box: BoundingBox, at shares: [Double]) -> [SIMD2<Double>] {
    let half = SIMD2(box.width, box.height) / 2
    return shares.flatMap { v in shares.map { box.centre + SIMD2($0, v) * half } }
  }

  private static func onSphere(
    _ points: [SIMD2<Double>], _ crs: CRSDefinition
  ) throws(GridError) -> [SIMD3<Double>] {
    let degrees = crs.toDegrees(points)
    guard degrees.allSatisfy({ $0.x.isFinite && $0.y.isFinite }) else { throw tooLarge(crs) }
    return degrees.map(onSphere)
  }

  private static func onSphere(_ degrees: SIMD2<Double>) -> SIMD3<Double> {
    let angles = degrees * (.pi / 180)
    return SIMD3(cos(angles.y) * cos(angles.x), cos(angles.y) * sin(angles.x), sin(angles.y))
  }

  private static func tooLarge(_ crs: CRSDefinition) -> GridError {
    GridError(
      .invalidMatrixSet, "its area is too large for \(crs.code) (\(crs.name)): give it a smaller boundingBox")
  }
}
