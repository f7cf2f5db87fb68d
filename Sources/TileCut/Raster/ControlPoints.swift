import TileIndex

/// A ground control point: a pixel, and where it lies.
struct GroundControlPoint: Hashable, Sendable {
  /// In pixel coordinates: (0, 0) is the outer corner of the top left pixel.
  var pixel: SIMD2<Double>
  /// In CRS coordinates.
  var place: SIMD2<Double>
}

extension GroundControlPoint {
  /// An element `GCP` of GDAL's files; nil if it is damaged.
  init?(attributes: [String: String]) {
    let numbers = ["Pixel", "Line", "X", "Y"].compactMap { attributes[$0].flatMap { Double($0) } }
    guard numbers.count == 4 else { return nil }
    self.init(pixel: SIMD2(numbers[0], numbers[1]), place: SIMD2(numbers[2], numbers[3]))
  }
}

/// The relation between pixels and CRS coordinates that ground control points give: one polynomial each way, fitted by
/// least squares, as GDAL's polynomial transformer does it. With exact points the two are inverses of each other, else
/// nearly.
package struct ControlPointTransform: Hashable, Sendable {
  /// The polynomials' order. Like in GDAL it is 2 from six points on and 1 below, for three points are a plane's least;
  /// if the points do not determine a polynomial of order 2, it is 1.
  package let order: Int
  private let toPlace: Polynomial
  private let toPixel: Polynomial
  /// The points' bounding box in the CRS with the raster's, and a margin. Beyond it the polynomials mean nothing, and
  /// one of a higher order may come back to the raster.
  private let domain: BoundingBox
  /// The top left corner and the size of a pixel in pixels of the points, other than 0 and 1 for a part of the raster.
  private var origin = SIMD2<Double>.zero
  private var step = SIMD2(1.0, 1.0)
  /// How far the polynomial misses the points, in pixels: the root mean square and the largest distance.
  let error: (rms: Double, largest: Double)

  /// - Returns: nil if the points are fewer than three or lie on a line.
  init?(_ points: [GroundControlPoint], width: Int, height: Int) {
    let (pixels, places) = (points.map(\.pixel), points.map(\.place))
    let orders = points.count >= 6 ? [2, 1] : [1]
    let fit = orders.lazy.compactMap { order in
      Polynomial(order: order, from: pixels, to: places).flatMap { toPlace in
        Polynomial(order: order, from: places, to: pixels).map { (order, toPlace, $0) }
      }
    }.first
    guard let fit else { return nil }
    (order, toPlace, toPixel) = fit
    var corners = places
    for y in 0...16 {
      for x in 0...16 { corners.append(fit.1(SIMD2(Double(width * x) / 16, Double(height * y) / 16))) }
    }
    let box = BoundingBox(around: corners)
    domain = BoundingBox(
      west: box.west - box.width / 10, south: box.south - box.height / 10, east: box.east + box.width / 10,
      north: box.north + box.height / 10)
    let squares = points.map { point in
      let away = fit.2(point.place) - point.pixel
      return (away * away).sum()
    }
    error = ((squares.reduce(0, +) / Double(squares.count)).squareRoot(), squares.max()!.squareRoot())
  }

  /// CRS coordinates of a point in pixels.
  func place(ofPixel pixel: SIMD2<Double>) -> SIMD2<Double> { toPlace(origin + pixel * step) }

  /// Pixel coordinates of a point in the CRS; NaN far outside of the raster.
  func pixel(at place: SIMD2<Double>) -> SIMD2<Double> {
    domain.contains(place) ? (toPixel(place) - origin) / step : SIMD2(repeating: .nan)
  }

  /// The transformation of a part of the raster; ``Georeference/part(origin:step:)``.
  func part(origin: SIMD2<Double>, step: SIMD2<Double>) -> ControlPointTransform {
    var part = self
    part.origin = self.origin + origin * self.step
    part.step = self.step * step
    return part
  }

  /// The affine transformation that equals the polynomial in the raster's middle.
  func affine(width: Int, height: Int) -> Affine {
    let middle = SIMD2(Double(width) / 2, Double(height) / 2)
    let origin = toPlace(middle)
    let across = (toPlace(middle + SIMD2(0.5, 0)) - toPlace(middle - SIMD2(0.5, 0)))
    let down = (toPlace(middle + SIMD2(0, 0.5)) - toPlace(middle - SIMD2(0, 0.5)))
    let corner = origin - across * middle.x - down * middle.y
    return Affine(a: across.x, b: down.x, c: corner.x, d: across.y, e: down.y, f: corner.y)
  }

  package static func == (a: Self, b: Self) -> Bool {
    a.toPlace == b.toPlace && a.toPixel == b.toPixel && a.origin == b.origin && a.step == b.step
  }
  package func hash(into hasher: inout Hasher) { hasher.combine(toPlace) }
}

/// A polynomial of order 1 or 2 from the plane to the plane, in coordinates of about -1 to 1 so that nothing cancels.
private struct Polynomial: Hashable, Sendable {
  private let centre: SIMD2<Double>
  private let scale: SIMD2<Double>
  /// For 1, x, y, x², xy, y².
  private let coefficients: [SIMD2<Double>]

  /// Fits by least squares; nil if the points do not determine the coefficients.
  init?(order: Int, from: [SIMD2<Double>], to: [SIMD2<Double>]) {
    let box = BoundingBox(around: from)
    guard from.count >= (order == 1 ? 3 : 6), box.width > 0, box.height > 0,
      (from + to).allSatisfy({ $0.x.isFinite && $0.y.isFinite })
    else { return nil }
    let centre = box.centre
    let scale = SIMD2(box.width / 2, box.height / 2)
    var rows = from.map { Self.terms(($0 - centre) / scale, order: order) }
    var right = to
    // Householder's QR decomposition, which keeps the precision that normal equations lose.
    let count = rows[0].count
    for k in 0..<count {
      let norm = (k..<rows.count).reduce(0) { $0 + rows[$1][k] * rows[$1][k] }.squareRoot()
      guard norm > 1e-9 * Double(rows.count).squareRoot() else { return nil }
      let alpha = rows[k][k] > 0 ? -norm : norm
      var v = (k..<rows.count).map { rows[$0][k] }
      v[0] -= alpha
      let length = v.reduce(0) { $0 + $1 * $1 }
      for j in k..<count {
        let factor = 2 * v.indices.reduce(0) { $0 + v[$1] * rows[k + $1][j] } / length
        for i in v.indices { rows[k + i][j] -= factor * v[i] }
      }
      let factor = v.indices.reduce(SIMD2<Double>.zero) { $0 + v[$1] * right[k + $1] } * (2 / length)
      for i in v.indices { right[k + i] -= factor * v[i] }
    }
    var solution = [SIMD2<Double>](repeating: .zero, count: count)
    for k in stride(from: count - 1, through: 0, by: -1) {
      let known = (k + 1..<max(count, k + 1)).reduce(SIMD2<Double>.zero) { $0 + rows[k][$1] * solution[$1] }
      solution[k] = (right[k] - known) / rows[k][k]
    }
    (self.centre, self.scale, coefficients) = (centre, scale, solution)
  }

  func callAsFunction(_ point: SIMD2<Double>) -> SIMD2<Double> {
    let p = (point - centre) / scale
    let linear = coefficients[0] + coefficients[1] * p.x + coefficients[2] * p.y
    guard coefficients.count > 3 else { return linear }
    return linear + coefficients[3] * (p.x * p.x) + coefficients[4] * (p.x * p.y) + coefficients[5] * (p.y * p.y)
  }

  private static func terms(_ p: SIMD2<Double>, order: Int) -> [Double] {
    order == 1 ? [1, p.x, p.y] : [1, p.x, p.y, p.x * p.x, p.x * p.y, p.y * p.y]
  }
}
