import RegionCatalog
import TileImage
import TileIndex

/// Lets the pixels along the edge of what is visible go on for one pixel, as kernels see them beyond a raster's edge.
enum EdgeFill {
  /// Reads a window of a raster, and gives transparent pixels the colour of a visible neighbour.
  ///
  /// - Parameter hide: makes pixels of the buffer transparent, which holds a rectangle of the raster, and returns which
  ///   of them may be filled; nil lets all transparent pixels be filled.
  /// - Returns: true if every pixel is opaque.
  static func read(
    _ window: PixelRect, of source: any RasterSource, into target: UnsafeMutableRawPointer, rowBytes: Int,
    hide: ((PixelRect, PixelBuffer) -> [Bool]?)? = nil
  ) throws -> Bool {
    let whole = PixelRect(x: 0, y: 0, width: source.width, height: source.height)
    let grown = PixelRect(x: window.x - 1, y: window.y - 1, width: window.width + 2, height: window.height + 2)
      .intersection(whole)!
    let buffer = PixelBuffer(width: grown.width, height: grown.height)
    var isOpaque = try source.read(grown, into: buffer.bytes, rowBytes: buffer.rowBytes)
    var fillable: [Bool]?
    if let hide {
      fillable = hide(grown, buffer)
      isOpaque = isOpaque && fillable == nil
    }
    let words = buffer.bytes.assumingMemoryBound(to: UInt32.self)
    let (left, top) = (window.x - grown.x, window.y - grown.y)
    for y in 0..<window.height {
      let line = (target + y * rowBytes).assumingMemoryBound(to: UInt32.self)
      line.update(from: words + (top + y) * grown.width + left, count: window.width)
    }
    if isOpaque || (hide != nil && fillable == nil) { return isOpaque }
    // Side by side before corner to corner.
    let neighbours = [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, -1), (-1, 1), (1, 1)]
    for y in 0..<window.height {
      let line = (target + y * rowBytes).assumingMemoryBound(to: UInt32.self)
      for x in 0..<window.width where line[x] == 0 {
        let (column, row) = (left + x, top + y)
        if let fillable, !fillable[row * grown.width + column] { continue }
        for (dx, dy) in neighbours {
          let (nx, ny) = (column + dx, row + dy)
          guard nx >= 0, ny >= 0, nx < grown.width, ny < grown.height else { continue }
          let word = words[ny * grown.width + nx]
          if word != 0 {
            line[x] = word
            break
          }
        }
      }
    }
    return false
  }
}

/// A raster whose visible part goes on for one pixel. A ``Mosaic`` closes the seams between rasters with it.
final class ExtendedRaster: RasterSource {
  private let base: any RasterSource

  var path: String { base.path }
  var width: Int { base.width }
  var height: Int { base.height }
  var alphaKind: AlphaKind { base.alphaKind }
  var georeference: Georeference { base.georeference }
  var warnings: [String] { base.warnings }

  init(_ base: any RasterSource) { self.base = base }

  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    try EdgeFill.read(window, of: base, into: target, rowBytes: rowBytes)
  }
}

/// A raster that is drawn within an outline.
///
/// Pixels whose centres lie outside do not enter the map; those beside the outline get the colour of their neighbours,
/// so that nothing of a collar shows. A ``Mosaic`` then keeps the target pixels whose centres lie inside, so that
/// sheets with a common outline meet without a gap.
final class CutlineRaster: RasterSource {
  let cutline: RegionBoundary?
  private let base: any RasterSource
  private let area: PixelArea

  var path: String { base.path }
  var width: Int { base.width }
  var height: Int { base.height }
  let alphaKind: AlphaKind
  var georeference: Georeference { base.georeference }
  var warnings: [String] { base.warnings }

  /// - Throws: ``CutError`` `.invalidOption` if the outline does not touch the raster or has no image in its CRS.
  init(_ base: any RasterSource, _ cutline: RegionBoundary) throws {
    self.base = base
    self.cutline = cutline
    alphaKind = base.alphaKind == .opaque ? .mask : base.alphaKind
    let georeference = base.georeference
    let transform = try CoordinateTransform(
      from: .wgs84LongLat, to: georeference.crs, areaOfInterest: base.areaOfInterest)
    guard let inverse = georeference.affine.inverse else {
      throw CutError(
        .noGeoreference, path: base.path, "its georeference maps all pixels to a line",
        remedy: "correct the pixel size, or place the image with --bounds W,S,E,N and --crs")
    }
    func toPixel(_ place: SIMD2<Double>) -> SIMD2<Double> {
      georeference.controlPoints?.pixel(at: place) ?? inverse(place)
    }
    let (width, height) = (Double(base.width), Double(base.height))
    // A full turn around the Earth in pixels.
    let turn = georeference.crs.horizontalPeriod.map { toPixel(SIMD2($0, 0)) - toPixel(.zero) }
    let shapes = cutline.polygons.map { rings in
      rings.map { ring -> [SIMD2<Double>] in
        var pixels = ProjectedRing.pixels(ring) { points in
          points.withUnsafeMutableBufferPointer { transform.transform($0) }
          for i in points.indices { points[i] = toPixel(points[i]) }
        }
        if let turn, let low = pixels.map(\.x).min(), let high = pixels.map(\.x).max(), turn.x != 0 {
          let turns = ((width / 2 - (low + high) / 2) / turn.x).rounded()
          if turns.isFinite, turns != 0 { for i in pixels.indices { pixels[i] += turn * turns } }
        }
        return pixels
      }
    }
    guard shapes.joined().joined().allSatisfy({ $0.x.isFinite && $0.y.isFinite }) else {
      throw CutError(
        .invalidOption, path: base.path, "its cutline has points without a place in '\(georeference.crs.name)'",
        remedy: "give a cutline near the raster, in degrees, longitude first")
    }
    area = PixelArea(shapes: shapes, rows: 0..<base.height)
    guard let bounds = area.bounds, bounds.low.x < width, bounds.high.x > 0, bounds.low.y < height, bounds.high.y > 0
    else {
      throw CutError(
        .invalidOption, path: base.path, "its cutline does not touch it",
        remedy: "give the cutline in degrees, longitude first")
    }
  }

  func mayBeVisible(_ window: PixelRect) -> Bool {
    // Pixels beside the outline take the colour of their neighbours.
    let whole = PixelRect(x: 0, y: 0, width: width, height: height)
    let grown = PixelRect(x: window.x - 1, y: window.y - 1, width: window.width + 2, height: window.height + 2)
    guard let around = grown.intersection(whole) else { return false }
    return area.mayTouch(around) && base.mayBeVisible(around)
  }

  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    try EdgeFill.read(window, of: base, into: target, rowBytes: rowBytes) { rect, buffer in
      var isOutside = [Bool](repeating: true, count: rect.width * rect.height)
      var inside = 0
      self.area.forEachRun(in: rect) { row, columns in
        let start = (row - rect.y) * rect.width - rect.x
        for column in columns { isOutside[start + column] = false }
        inside += columns.count
      }
      if inside == rect.width * rect.height { return nil }
      let words = buffer.bytes.assumingMemoryBound(to: UInt32.self)
      for i in isOutside.indices where isOutside[i] { words[i] = 0 }
      return isOutside
    }
  }
}
