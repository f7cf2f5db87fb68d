import LibC

/// A CRS other than Web Mercator and WGS 84 degrees, such as a national grid, UTM or a polar one, within a box.
///
/// Its relation to longitudes and latitudes is a series that was fitted to PROJ's transformation, so that programs need
/// no PROJ. The series gives the point on the unit sphere with that longitude and latitude, which is smooth across the
/// poles and the antimeridian. It differs from PROJ by at most a hundred millionth of the box's longer edge, or by 1 cm
/// if that is less, and by half a metre at most: enough for bounds, the tiles at a place, areas and drawn lines. The
/// pixels of maps are placed by PROJ itself.
public struct FittedCRS: Sendable {
  /// Authority and code, such as `EPSG:2056`.
  public let code: String
  /// The authority's name, such as `CH1903+ / LV95`.
  public let name: String
  /// The definition as WKT 1, for GeoPackages; nil for a CRS that has none.
  package let wkt: String?
  /// Length of a unit in metres; of a degree that on the equator.
  package let metresPerUnit: Double
  /// True if the authority puts north, or latitude, first. Positions here are always x, then y.
  package let isNorthFirst: Bool
  /// Where the relation holds, in CRS units.
  package let box: BoundingBox
  let surface: ChebyshevSurface
  private let starts: [Start]
  /// The poles in the box.
  private(set) var poles: [Pole] = []
  /// The box in degrees and a margin around it, for what may be seen in it.
  private(set) var reach = BoundingBox.world

  /// A pole in CRS units.
  struct Pole: Sendable {
    let point: SIMD2<Double>
    /// 90 or -90.
    let latitude: Double
  }

  /// Where the search for a point begins.
  private struct Start {
    let point: SIMD2<Double>
    let onSphere: SIMD3<Double>
  }

  /// The radius in metres of the sphere on which distances of the fit are measured.
  static let radius = 6_378_137.0
  /// What is nearer to a pole, in radians, is the pole.
  static let poleRadius = 1e-8
  private static let startsPerEdge = 13
  private static let stepsMax = 40

  /// The largest error of the fit in metres: a hundred millionth of the box's longer edge, from 1 cm to half a metre.
  static func tolerance(of box: BoundingBox, metresPerUnit: Double) -> Double {
    min(max(max(box.width, box.height) * metresPerUnit * 1e-8, 0.01), 0.5)
  }

  init(
    code: String, name: String, wkt: String?, metresPerUnit: Double, isNorthFirst: Bool, box: BoundingBox,
    surface: ChebyshevSurface
  ) throws(GridError) {
    guard box.width > 0, box.height > 0, box.width.isFinite, box.height.isFinite, metresPerUnit > 0,
      metresPerUnit.isFinite, !surface.coefficients.isEmpty
    else { throw GridError(.invalidMatrixSet, "the relation of \(code) to degrees is empty") }
    (self.code, self.name, self.wkt, self.metresPerUnit) = (code, name, wkt, metresPerUnit)
    (self.isNorthFirst, self.box, self.surface) = (isNorthFirst, box, surface)
    var made: [Start] = []
    for row in 0..<Self.startsPerEdge {
      for column in 0..<Self.startsPerEdge {
        let share = SIMD2(Double(column), Double(row)) / Double(Self.startsPerEdge - 1)
        let point = SIMD2(box.west, box.south) + share * SIMD2(box.width, box.height)
        let value = surface.evaluated(2 * share.x - 1, 2 * share.y - 1).value
        made.append(Start(point: point, onSphere: value / (value * value).sum().squareRoot()))
      }
    }
    starts = made
    poles = [90.0, -90].compactMap { latitude in
      let point = point(longitude: 0, latitude: latitude)
      return contains(point) ? Pole(point: point, latitude: latitude) : nil
    }
    let degrees = geographicBounds(of: box)
    let margin = SIMD2(degrees.width, degrees.height) * 0.02 + 0.01
    reach = BoundingBox(
      west: degrees.west - margin.x, south: max(degrees.south - margin.y, -90), east: degrees.east + margin.x,
      north: min(degrees.north + margin.y, 90))
  }

  /// True for points in the box, but for rounding.
  public func contains(_ point: SIMD2<Double>) -> Bool {
    let slack = 1e-9 * max(box.width, box.height)
    return point.x >= box.west - slack && point.x <= box.east + slack && point.y >= box.south - slack
      && point.y <= box.north + slack
  }

  /// The longitude and latitude in degrees of a point in CRS units; beyond the box that of its edge.
  package func coordinate(of point: SIMD2<Double>) -> (longitude: Double, latitude: Double) {
    let q = place(clamped(point)).onSphere
    let aside = (q.x * q.x + q.y * q.y).squareRoot()
    // A pole has every longitude.
    let longitude = aside < Self.poleRadius ? 0 : atan2(q.y, q.x) * (180 / .pi)
    return (longitude, atan2(q.z, aside) * (180 / .pi))
  }

  /// The point in CRS units of a longitude and latitude in degrees.
  ///
  /// What lies outside the box has a point outside it, which is exact at the box's edge and rough away from it: lines
  /// that leave the box leave it at the right place.
  public func point(longitude: Double, latitude: Double) -> SIMD2<Double> {
    let (lambda, phi) = (longitude * (.pi / 180), latitude * (.pi / 180))
    let wanted = SIMD3(cos(phi) * cos(lambda), cos(phi) * sin(lambda), sin(phi))
    var at = SIMD2(box.west, box.south)
    var nearest = -2.0
    for start in starts {
      let likeness = (start.onSphere * wanted).sum()
      if likeness > nearest { (nearest, at) = (likeness, start.point) }
    }
    // Newton's method on the sphere, kept in the box; the last step may lead out of it.
    let enough = 1e-11 * max(box.width, box.height)
    var end = at
    for _ in 0..<Self.stepsMax {
      let here = place(at)
      end = at + here.step(towards: wanted)
      let next = clamped(end)
      let way = next - at
      at = next
      if max(abs(way.x), abs(way.y)) <= enough { return end }
    }
    // No point: somewhere outside.
    return contains(end) ? nowhere.centre : end
  }

  func clamped(_ point: SIMD2<Double>) -> SIMD2<Double> {
    SIMD2(min(max(point.x, box.west), box.east), min(max(point.y, box.south), box.north))
  }

  /// The square metres on the ground of a square unit at a point of the box.
  func groundArea(at point: SIMD2<Double>) -> Double {
    let here = place(point)
    let (a, b) = (here.byX, here.byY)
    let normal = SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
    return (normal * normal).sum().squareRoot() * Self.radius * Self.radius
  }

  /// A point's place on the unit sphere, and where it moves as the point moves by a CRS unit.
  private struct LocalPlane {
    let onSphere: SIMD3<Double>
    let byX: SIMD3<Double>
    let byY: SIMD3<Double>

    /// The step in CRS units along the great circle to another place, as if the CRS went on as it is here.
    func step(towards wanted: SIMD3<Double>) -> SIMD2<Double> {
      let along = (onSphere * wanted).sum()
      var way = wanted - onSphere * along
      let length = (way * way).sum().squareRoot()
      guard length > 0 else { return .zero }
      way *= atan2(length, along) / length
      let (xx, xy, yy) = ((byX * byX).sum(), (byX * byY).sum(), (byY * byY).sum())
      let (x, y) = ((byX * way).sum(), (byY * way).sum())
      let determinant = xx * yy - xy * xy
      guard determinant > 0 else { return .zero }
      return SIMD2(x * yy - y * xy, y * xx - x * xy) / determinant
    }
  }

  private func place(_ point: SIMD2<Double>) -> LocalPlane {
    let half = SIMD2(box.width, box.height) / 2
    let share = (point - box.centre) / half
    let (value, byU, byV) = surface.evaluated(share.x, share.y)
    return LocalPlane(
      onSphere: value / (value * value).sum().squareRoot(), byX: byU / half.x, byY: byV / half.y)
  }
}

extension FittedCRS: Hashable {
  /// The series follows from the code and the box, but for the version of PROJ.
  public static func == (a: FittedCRS, b: FittedCRS) -> Bool { a.code == b.code && a.box == b.box }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(code)
    hasher.combine(box)
  }
}
