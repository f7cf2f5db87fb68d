import TileImage
package import TileIndex

/// A georeferenced raster that decodes one window at a time.
///
/// Safe to call from several threads at once; each window is decoded from blocks that are cached within a byte budget.
package protocol RasterSource: AnyObject, Sendable {
  /// The file's path, for messages.
  var path: String { get }
  var width: Int { get }
  var height: Int { get }
  var alphaKind: AlphaKind { get }
  var georeference: Georeference { get }
  /// Things the user should know although the raster can be cut, each naming the file.
  var warnings: [String] { get }

  /// Decodes a window into straight RGBA8 (the form of ``PixelBuffer``; transparent pixels are all zero).
  ///
  /// - Parameters:
  ///   - window: lies wholly inside the raster.
  ///   - target: the window's top left pixel; the caller owns `window.height * rowBytes` bytes.
  ///   - rowBytes: bytes between rows of `target`, at least `window.width * 4`.
  /// - Returns: true when every pixel of the window is opaque.
  /// - Throws: ``CutError`` with the block that could not be decoded.
  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool
}

extension RasterSource {
  /// Where the source lies in WGS 84 degrees, by which PROJ chooses among several datum shifts; nil when it cannot be told.
  var areaOfInterest: BoundingBox? { georeference.geographicBounds(width: width, height: height) }
}

/// How a raster's alpha comes about, which decides how the warper resamples it.
package enum AlphaKind: Sendable {
  /// Every pixel is opaque.
  case opaque
  /// Pixels are there or not (nodata, mask): alpha is 0 or 255, and stays so at the native zoom.
  case mask
  /// The raster has an alpha band: alpha is interpolated like a colour.
  case soft
}

/// A rectangle in whole pixels, from the raster's top left corner.
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

  package func intersection(_ other: PixelRect) -> PixelRect? {
    let x0 = max(x, other.x)
    let y0 = max(y, other.y)
    let x1 = min(x + width, other.x + other.width)
    let y1 = min(y + height, other.y + other.height)
    guard x0 < x1, y0 < y1 else { return nil }
    return PixelRect(x: x0, y: y0, width: x1 - x0, height: y1 - y0)
  }
}

/// Where a raster lies: an affine map from pixel coordinates to CRS coordinates, and the CRS.
package struct Georeference: Sendable {
  package var affine: Affine
  package var crs: CoordinateReferenceSystem

  package init(affine: Affine, crs: CoordinateReferenceSystem) {
    self.affine = affine
    self.crs = crs
  }

  /// The box round a raster of the given size, in CRS units; of a rotated raster, the box round its corners.
  package func bounds(width: Int, height: Int) -> BoundingBox {
    let (w, h) = (Double(width), Double(height))
    let corners = [affine(SIMD2(0, 0)), affine(SIMD2(w, 0)), affine(SIMD2(0, h)), affine(SIMD2(w, h))]
    return BoundingBox(
      west: corners.map(\.x).min()!, south: corners.map(\.y).min()!, east: corners.map(\.x).max()!,
      north: corners.map(\.y).max()!)
  }

  /// The box round the raster in WGS 84 degrees, west greater than east if it spans the antimeridian; nil where PROJ finds none.
  ///
  /// Good as the area of interest of a ``CoordinateTransform``, which is how gdalwarp chooses datum shifts.
  package func geographicBounds(width: Int, height: Int) -> BoundingBox? {
    let box = bounds(width: width, height: height)
    return (try? CoordinateTransform(from: crs, to: .wgs84LongLat))?.transformBounds(box)
  }
}

/// x' = a x + b y + c, y' = d x + e y + f. Pixel coordinates: (0, 0) is the outer corner of the top left pixel, (0.5, 0.5) its centre.
package struct Affine: Hashable, Sendable {
  package var a: Double, b: Double, c: Double
  package var d: Double, e: Double, f: Double

  package init(a: Double, b: Double, c: Double, d: Double, e: Double, f: Double) {
    (self.a, self.b, self.c, self.d, self.e, self.f) = (a, b, c, d, e, f)
  }

  package func callAsFunction(_ p: SIMD2<Double>) -> SIMD2<Double> {
    SIMD2(a * p.x + b * p.y + c, d * p.x + e * p.y + f)
  }

  /// The map back, or nil when the matrix is singular.
  package var inverse: Affine? {
    let det = a * e - b * d
    guard det != 0, det.isFinite else { return nil }
    return Affine(
      a: e / det, b: -b / det, c: (b * f - e * c) / det, d: -d / det, e: a / det, f: (d * c - a * f) / det)
  }
}
