import CPROJ
import CPROJShim
import LibC
import TileIndex

/// What an area gains when it grows by a distance on the ground: a disc around each corner of its rings, and a strip
/// on both sides of each edge, measured on the WGS 84 ellipsoid.
struct GroundBuffer {
  private let metres: Double
  /// Corners of a disc.
  private let cornerCount: Int
  /// Latitudes beyond this have no place in the grid, or none worth a buffer.
  private let latitudeMax: Double
  private var ellipsoid = geod_geodesic()

  /// - Parameters:
  ///   - metres: the distance, above 0.
  ///   - pixelMetres: the edge of a pixel of the map, to which discs are rounded.
  init(metres: Double, pixelMetres: Double, latitudeMax: Double) {
    self.metres = metres
    self.latitudeMax = latitudeMax
    // Within a tenth of a pixel of the circle.
    let radius = max(metres / pixelMetres, 0.2)
    cornerCount = min(max(Int((Double.pi / (0.2 / radius).squareRoot()).rounded(.up)), 12), 256)
    // Who draws a buffer has read a coordinate reference system before, with PROJ.
    let missing = cproj_load()
    precondition(missing == nil)
    geod_init(&ellipsoid, 6_378_137, 1 / 298.257_223_563)
  }

  /// Closed rings in degrees that together cover the gain; longitudes may lie beyond ±180.
  func rings(around polygons: [[[SIMD2<Double>]]]) -> [[SIMD2<Double>]] {
    var rings: [[SIMD2<Double>]] = []
    for ring in polygons.joined() {
      let points = thinned(ProjectedRing.pieces(ring, degreesMax: 0.1)).map {
        SIMD2($0.x, min(max($0.y, -latitudeMax), latitudeMax))
      }
      for (a, b) in zip(points, points.dropFirst()) {
        rings.append(disc(a))
        if a != b { rings.append(strip(a, b)) }
      }
    }
    return rings
  }

  /// The ring without corners so near to the one before that they change the buffer by less than half a percent.
  private func thinned(_ ring: [SIMD2<Double>]) -> [SIMD2<Double>] {
    guard var last = ring.first else { return [] }
    let degrees = metres / 200 / 111_320
    var kept = [last]
    for (index, point) in ring.enumerated().dropFirst()
    where max(abs(point.x - last.x), abs(point.y - last.y)) > degrees || index == ring.count - 1 {
      kept.append(point)
      last = point
    }
    return kept
  }

  private func disc(_ centre: SIMD2<Double>) -> [SIMD2<Double>] {
    let corners = (0..<cornerCount).map { point(from: centre, azimuth: 360 * Double($0) / Double(cornerCount)) }
    return corners + [corners[0]]
  }

  private func strip(_ a: SIMD2<Double>, _ b: SIMD2<Double>) -> [SIMD2<Double>] {
    // The direction of the edge on the ground, for its short length.
    let middle = (a.y + b.y) / 2 * .pi / 180
    let azimuth = atan2((b.x - a.x) * cos(middle), b.y - a.y) * 180 / .pi
    let corner = point(from: a, azimuth: azimuth + 90)
    return [
      corner, point(from: b, azimuth: azimuth + 90), point(from: b, azimuth: azimuth - 90),
      point(from: a, azimuth: azimuth - 90), corner,
    ]
  }

  private func point(from origin: SIMD2<Double>, azimuth: Double) -> SIMD2<Double> {
    var (latitude, longitude) = (0.0, 0.0)
    withUnsafePointer(to: ellipsoid) {
      geod_direct($0, origin.y, origin.x, azimuth, metres, &latitude, &longitude, nil)
    }
    longitude += 360 * ((origin.x - longitude) / 360).rounded()
    return SIMD2(longitude, latitude)
  }
}
