package import RegionCatalog
import TileImage
package import TileIndex

/// A georeferenced raster that decodes one window at a time.
///
/// Safe to use from several threads; windows are assembled from decoded blocks in a cache with a byte budget.
package protocol RasterSource: AnyObject, Sendable {
  /// The file's path, for messages.
  var path: String { get }
  var width: Int { get }
  var height: Int { get }
  var alphaKind: AlphaKind { get }
  var georeference: Georeference { get }
  /// Problems that do not prevent a cut; each line names the file.
  var warnings: [String] { get }

  /// Decodes a window into row-major straight RGBA8, the layout of ``PixelBuffer``; transparent pixels are all zero.
  ///
  /// - Parameters:
  ///   - window: must lie inside the raster.
  ///   - target: receives the window's top left pixel; the caller owns `window.height * rowBytes` bytes.
  ///   - rowBytes: bytes between rows of `target`, at least `window.width * 4`.
  /// - Returns: true if every pixel of the window is opaque.
  /// - Throws: ``CutError`` naming the block that cannot be decoded.
  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool

  /// The coarsest version of the raster that the file has of which a pixel spans at most `factorMax` pixels in either
  /// direction; nil if it has none.
  func overview(factorMax: Double) throws -> (any RasterSource)?

  /// False if a window is known to have no visible pixel before anything is decoded.
  func mayBeVisible(_ window: PixelRect) -> Bool

  /// The outline within which the raster is drawn, by the centres of target pixels; nil if it is drawn wholly.
  var cutline: RegionBoundary? { get }
}

extension RasterSource {
  package func overview(factorMax: Double) throws -> (any RasterSource)? { nil }
  package func mayBeVisible(_ window: PixelRect) -> Bool { true }
  package var cutline: RegionBoundary? { nil }

  /// The raster's extent in WGS 84 degrees, from which PROJ chooses a datum shift; nil if it is unknown.
  var areaOfInterest: BoundingBox? { georeference.geographicBounds(width: width, height: height) }
}

/// Where the raster's alpha comes from, which decides how it is resampled.
package enum AlphaKind: Sendable {
  /// Every pixel is opaque.
  case opaque
  /// Alpha is 0 or 255, from a nodata value or a mask, and stays so at the native zoom.
  case mask
  /// The raster has an alpha band, which is interpolated like a colour.
  case soft
}

/// A rectangle in whole pixels; the origin is the top left corner.
package struct PixelRect: Hashable, Sendable {
  package var x: Int
  package var y: Int
  package var width: Int
  package var height: Int

  package init(x: Int, y: Int, width: Int, height: Int) {
    self.x = x
    self.y = y
    self.width = width
    self.height = height
  }

  /// The rectangle with a margin on all sides.
  func grown(by pixels: Int) -> PixelRect {
    PixelRect(x: x - pixels, y: y - pixels, width: width + 2 * pixels, height: height + 2 * pixels)
  }

  package func intersection(_ other: PixelRect) -> PixelRect? {
    let x0 = max(x, other.x)
    let y0 = max(y, other.y)
    let x1 = min(x + width, other.x + other.width)
    let y1 = min(y + height, other.y + other.height)
    guard x0 < x1, y0 < y1 else { return nil }
    return PixelRect(x: x0, y: y0, width: x1 - x0, height: y1 - y0)
  }
}

/// Where a raster lies: a CRS, and the transformation from pixel coordinates to CRS coordinates.
package struct Georeference: Sendable {
  /// The transformation, or one that resembles it where ``controlPoints`` give it.
  package private(set) var affine: Affine
  /// The transformation of a raster that ground control points place.
  package private(set) var controlPoints: ControlPointTransform?
  package var crs: CoordinateReferenceSystem

  package init(affine: Affine, controlPoints: ControlPointTransform? = nil, crs: CoordinateReferenceSystem) {
    self.affine = affine
    self.controlPoints = controlPoints
    self.crs = crs
  }

  /// CRS coordinates of a point in pixels.
  package func place(ofPixel pixel: SIMD2<Double>) -> SIMD2<Double> {
    controlPoints?.place(ofPixel: pixel) ?? affine(pixel)
  }

  /// The georeference of a part of the raster, or of an overview.
  ///
  /// - Parameters:
  ///   - origin: where the top left corner lies, in the raster's pixels.
  ///   - step: the size of a pixel, in the raster's pixels.
  package func part(origin: SIMD2<Double>, step: SIMD2<Double> = SIMD2(1, 1)) -> Georeference {
    let corner = affine(origin)
    return Georeference(
      affine: Affine(
        a: affine.a * step.x, b: affine.b * step.y, c: corner.x, d: affine.d * step.x, e: affine.e * step.y,
        f: corner.y),
      controlPoints: controlPoints?.part(origin: origin, step: step), crs: crs)
  }

  /// The bounding box of a raster of the given size in CRS units, that of its edges if it is rotated or bent.
  package func bounds(width: Int, height: Int) -> BoundingBox {
    let steps = controlPoints == nil ? 1 : 16
    var edge: [SIMD2<Double>] = []
    for i in 0...steps {
      let (x, y) = (Double(width * i) / Double(steps), Double(height * i) / Double(steps))
      edge += [SIMD2(x, 0), SIMD2(x, Double(height)), SIMD2(0, y), SIMD2(Double(width), y)]
    }
    return BoundingBox(around: edge.map(place(ofPixel:)))
  }

  /// The bounding box in WGS 84 degrees; west exceeds east across the antimeridian. Nil if PROJ finds none.
  ///
  /// Serves as the area of interest of a ``CoordinateTransform``; gdalwarp chooses datum shifts the same way.
  package func geographicBounds(width: Int, height: Int) -> BoundingBox? {
    let box = bounds(width: width, height: height)
    return (try? CoordinateTransform(from: crs, to: .wgs84LongLat))?.transformBounds(box)
  }
}

/// x' = a x + b y + c, y' = d x + e y + f. In pixel coordinates (0, 0) is the outer corner of the top left pixel, (0.5,
/// 0.5) its centre.
package struct Affine: Hashable, Sendable {
  package var a: Double, b: Double, c: Double
  package var d: Double, e: Double, f: Double

  package init(a: Double, b: Double, c: Double, d: Double, e: Double, f: Double) {
    (self.a, self.b, self.c, self.d, self.e, self.f) = (a, b, c, d, e, f)
  }

  package func callAsFunction(_ p: SIMD2<Double>) -> SIMD2<Double> {
    SIMD2(a * p.x + b * p.y + c, d * p.x + e * p.y + f)
  }

  /// The inverse, or nil if the matrix is singular.
  package var inverse: Affine? {
    let det = a * e - b * d
    guard det != 0, det.isFinite else { return nil }
    return Affine(
      a: e / det, b: -b / det, c: (b * f - e * c) / det, d: -d / det, e: a / det, f: (d * c - a * f) / det)
  }
}
