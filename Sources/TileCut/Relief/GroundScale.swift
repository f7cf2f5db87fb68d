import LibC
import RegionCatalog
import TileIndex

/// Turns differences of heights between pixels into slopes on the ground, towards the east and the north, at each place
/// of a raster in any CRS: degrees, Web Mercator's stretched metres, rotated rasters.
///
/// The two are related by a matrix, which is computed on the ellipsoid at the nodes of a mesh and linear between them.
struct GroundScale: Sendable {
  /// Slopes to the east and north of a slope across and down: east = x * across + y * down, north = z * across + w *
  /// down.
  typealias Matrix = SIMD4<Double>

  private let columns: Int
  private let rows: Int
  /// Pixels between nodes.
  private let step: SIMD2<Double>
  private let nodes: [Matrix]

  private static let cellsMax = 64

  /// - Throws: ``CutError`` if PROJ knows no way from the raster's CRS to longitude and latitude.
  init(_ georeference: Georeference, width: Int, height: Int, areaOfInterest: BoundingBox?) throws {
    let toDegrees = try CoordinateTransform(
      from: georeference.crs, to: .wgs84LongLat, areaOfInterest: areaOfInterest)
    let cells = (min(width, Self.cellsMax), min(height, Self.cellsMax))
    (columns, rows) = (cells.0 + 1, cells.1 + 1)
    step = SIMD2(Double(width) / Double(cells.0), Double(height) / Double(cells.1))
    // Each node with its neighbours half a pixel away: to the left, the right, above and below.
    let around = [SIMD2(0.0, 0.0), SIMD2(-0.5, 0), SIMD2(0.5, 0), SIMD2(0, -0.5), SIMD2(0, 0.5)]
    var places: [SIMD2<Double>] = []
    for row in 0..<rows {
      for column in 0..<columns {
        let node = SIMD2(Double(column), Double(row)) * step
        places += around.map { georeference.place(ofPixel: node + $0) }
      }
    }
    places.withUnsafeMutableBufferPointer { toDegrees.transform($0) }
    nodes = stride(from: 0, to: places.count, by: around.count).map { Self.matrix(Array(places[$0..<$0 + 5])) }
  }

  /// The matrix at the first of five places in degrees; zero, which is level ground, where the CRS has no image.
  private static func matrix(_ p: [SIMD2<Double>]) -> Matrix {
    let across = metres(from: p[1], to: p[2], latitude: p[0].y)
    let down = metres(from: p[3], to: p[4], latitude: p[0].y)
    let area = across.x * down.y - across.y * down.x
    let matrix = Matrix(down.y, -across.y, -down.x, across.x) / area
    return (0..<4).allSatisfy { matrix[$0].isFinite } ? matrix : .zero
  }

  /// The way between two close places in metres, east and north, on the ellipsoid of WGS 84.
  private static func metres(from a: SIMD2<Double>, to b: SIMD2<Double>, latitude: Double) -> SIMD2<Double> {
    let (axis, eccentricity2) = (6_378_137.0, 0.006_694_379_990_14)
    let (sine, cosine) = (sin(latitude * .pi / 180), cos(latitude * .pi / 180))
    let w2 = 1 - eccentricity2 * sine * sine
    var away = b - a
    away.x -= 360 * (away.x / 360).rounded()
    let radians = away * (.pi / 180)
    return SIMD2(
      radians.x * axis * cosine / w2.squareRoot(), radians.y * axis * (1 - eccentricity2) / (w2 * w2.squareRoot()))
  }

  /// Passes the matrices of a run of pixels in one row to a closure, with their columns counted from the first.
  @inline(__always)
  func forEach(row: Int, from first: Int, count: Int, _ body: (Int, Matrix) -> Void) {
    let y = (Double(row) + 0.5) / step.y
    let top = min(Int(y), rows - 2)
    let down = y - Double(top)
    nodes.withUnsafeBufferPointer { nodes in
      func line(_ column: Int) -> Matrix {
        let a = nodes[top &* columns &+ column]
        return a + (nodes[(top &+ 1) &* columns &+ column] - a) * down
      }
      var cell = -1
      var (start, slope) = (Matrix.zero, Matrix.zero)
      for i in 0..<count {
        let x = (Double(first &+ i) + 0.5) / step.x
        let column = min(Int(x), columns &- 2)
        if column != cell {
          cell = column
          start = line(column)
          slope = line(column &+ 1) - start
        }
        body(i, start + slope * (x - Double(column)))
      }
    }
  }
}
