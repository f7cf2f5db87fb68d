import RegionCatalog
import TileImage
import TileIndex

/// Lets the pixels along the edge of what is visible go on, as kernels see them beyond a raster's edge.
enum EdgeFill {
  /// Reads a window of a raster, and gives transparent pixels the colour of a visible neighbour.
  ///
  /// - Parameters:
  ///   - rings: for how many pixels the edge goes on.
  ///   - hide: makes pixels of the buffer transparent, which holds a rectangle of the raster, and returns which of them
  ///     may be filled; nil lets all transparent pixels be filled.
  /// - Returns: true if every pixel is opaque.
  static func read(
    _ window: PixelRect, of source: any RasterSource, into target: UnsafeMutableRawPointer, rowBytes: Int,
    rings: Int = 1, hide: ((PixelRect, PixelBuffer) -> [Bool]?)? = nil
  ) throws -> Bool {
    let whole = PixelRect(x: 0, y: 0, width: source.width, height: source.height)
    let grown = window.grown(by: rings).intersection(whole)!
    let buffer = PixelBuffer(width: grown.width, height: grown.height)
    var isOpaque = try source.read(grown, into: buffer.bytes, rowBytes: buffer.rowBytes)
    var fillable: [Bool]?
    if let hide {
      fillable = hide(grown, buffer)
      isOpaque = isOpaque && fillable == nil
    }
    let words = buffer.bytes.assumingMemoryBound(to: UInt32.self)
    if !isOpaque, hide == nil || fillable != nil {
      for _ in 0..<rings { fill(words, width: grown.width, height: grown.height, fillable) }
    }
    let (left, top) = (window.x - grown.x, window.y - grown.y)
    for y in 0..<window.height {
      let line = (target + y * rowBytes).assumingMemoryBound(to: UInt32.self)
      line.update(from: words + (top + y) * grown.width + left, count: window.width)
    }
    return isOpaque
  }

  /// Fills the transparent pixels that have a visible neighbour.
  private static func fill(_ words: UnsafeMutablePointer<UInt32>, width: Int, height: Int, _ fillable: [Bool]?) {
    let before = Array(UnsafeBufferPointer(start: words, count: width * height))
    // Side by side before corner to corner.
    let neighbours = [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, -1), (-1, 1), (1, 1)]
    for y in 0..<height {
      for x in 0..<width where before[y * width + x] == 0 && fillable?[y * width + x] != false {
        for (dx, dy) in neighbours {
          let (nx, ny) = (x + dx, y + dy)
          guard nx >= 0, ny >= 0, nx < width, ny < height else { continue }
          let word = before[ny * width + nx]
          if word != 0 {
            words[y * width + x] = word
            break
          }
        }
      }
    }
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
///
/// In a pixel of an overview that the outline crosses, the collar is mixed already: only those that lie wholly inside
/// count, and they go on for two pixels.
final class CutlineRaster: RasterSource {
  let cutline: RegionBoundary?
  private let base: any RasterSource
  private let area: PixelArea
  private let isOverview: Bool
  /// For how many pixels the colours at the outline go on.
  private var rings: Int { isOverview ? 2 : 1 }

  var path: String { base.path }
  var width: Int { base.width }
  var height: Int { base.height }
  let alphaKind: AlphaKind
  var georeference: Georeference { base.georeference }
  var warnings: [String] { base.warnings }

  /// - Throws: ``CutError`` `.invalidOption` if the outline does not touch the raster or has no image in its CRS.
  convenience init(_ base: any RasterSource, _ cutline: RegionBoundary) throws {
    try self.init(base, cutline, isOverview: false)
  }

  private init(_ base: any RasterSource, _ cutline: RegionBoundary, isOverview: Bool) throws {
    self.base = base
    self.cutline = cutline
    self.isOverview = isOverview
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
    area = PixelArea(shapes: shapes.map { PixelArea.Shape($0) }, rows: 0..<base.height)
    guard let bounds = area.bounds, bounds.low.x < width, bounds.high.x > 0, bounds.low.y < height, bounds.high.y > 0
    else {
      throw CutError(
        .invalidOption, path: base.path, "its cutline does not touch it",
        remedy: "give the cutline in degrees, longitude first")
    }
  }

  func overview(factorMax: Double) throws -> (any RasterSource)? {
    guard let cutline, let coarse = try base.overview(factorMax: factorMax) else { return nil }
    return try CutlineRaster(coarse, cutline, isOverview: true)
  }

  func mayBeVisible(_ window: PixelRect) -> Bool {
    // Pixels beside the outline take the colour of their neighbours.
    let whole = PixelRect(x: 0, y: 0, width: width, height: height)
    guard let around = window.grown(by: rings).intersection(whole) else { return false }
    return area.mayTouch(around) && base.mayBeVisible(around)
  }

  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    try EdgeFill.read(window, of: base, into: target, rowBytes: rowBytes, rings: rings) { rect, buffer in
      let isOutside = self.isOverview ? self.notWithin(rect) : self.outside(rect)
      guard isOutside.contains(true) else { return nil }
      let words = buffer.bytes.assumingMemoryBound(to: UInt32.self)
      for i in isOutside.indices where isOutside[i] { words[i] = 0 }
      return isOutside
    }
  }

  /// Which pixels of a rectangle have their centres outside of the outline.
  private func outside(_ rect: PixelRect) -> [Bool] {
    var isOutside = [Bool](repeating: true, count: rect.width * rect.height)
    area.forEachRun(in: rect) { row, columns in
      let start = (row - rect.y) * rect.width - rect.x
      for column in columns { isOutside[start + column] = false }
    }
    return isOutside
  }

  /// Which pixels of a rectangle do not lie wholly within the outline.
  private func notWithin(_ rect: PixelRect) -> [Bool] {
    var shares = [Float](repeating: 0, count: rect.width * rect.height)
    shares.withUnsafeMutableBufferPointer { _ = area.coverage(of: rect, into: $0.baseAddress!) }
    // A little less, since shares are sums.
    return shares.map { $0 < 0.999 }
  }
}
