import RegionCatalog
import TileIndex

/// The picture of an elevation model.
///
/// Heights are shaded on the model's own pixels, with the size that these have on the ground there (``GroundScale``),
/// and the picture is warped like any other. So a shade depends on heights and their neighbours alone, not on tiles,
/// zooms or the extent of a map; it is what `gdaldem` computes; and every kernel, grid and cutline works with it. If
/// the deepest zoom has finer pixels than the model, the heights are first interpolated between (``HeightWindow``):
/// enlarged shades would show the model's pixels as facets.
final class ReliefRaster: RasterSource {
  let width: Int
  let height: Int
  let georeference: Georeference
  let alphaKind: AlphaKind
  private let base: any RasterSource
  /// Pixels for each of the model's, along an edge.
  private let factor: Int
  private let style: ReliefLayer
  private let shader: ReliefShader
  private let ground: GroundScale

  var path: String { base.path }
  var warnings: [String] { base.warnings }
  var cutline: RegionBoundary? { base.cutline }
  var areaOfInterest: BoundingBox? { base.areaOfInterest }

  private static let factorMax = 8

  /// - Parameter base: pixels are heights as ``HeightCode``.
  init(_ base: any RasterSource, _ style: ReliefLayer, factor: Int = 1) throws {
    (self.base, self.style, self.factor) = (base, style, factor)
    (width, height) = (base.width * factor, base.height * factor)
    georeference =
      factor == 1
      ? base.georeference : base.georeference.part(origin: .zero, step: SIMD2(repeating: 1 / Double(factor)))
    alphaKind = style.isOverlay || style.tint?.hasAlpha == true ? .soft : base.alphaKind
    shader = ReliefShader(style)
    ground = try GroundScale(
      georeference, width: width, height: height, areaOfInterest: base.areaOfInterest)
  }

  /// The pictures of a layer's elevation models. Models on one grid are joined first, so that slopes are known across
  /// their seams.
  static func layer(_ models: [any RasterSource], _ style: ReliefLayer) throws -> [any RasterSource] {
    try JoinedRaster.joining(models).map { try ReliefRaster($0, style) }
  }

  /// The sources, with elevation models interpolated so that a pixel is not larger than one of the deepest zoom.
  ///
  /// - Parameter cell: the edge of a pixel of the deepest zoom, in target CRS units; nil if the sources decide on it.
  static func refining(
    _ sources: [any RasterSource], cell: Double?, target: CoordinateReferenceSystem, matrixSet: TileMatrixSet
  ) throws -> [any RasterSource] {
    guard let cell else { return sources }
    return try sources.map { source in
      guard let relief = source as? ReliefRaster else { return source }
      let resolution = try SourceFootprint(source: relief, target: target, matrixSet: matrixSet).resolution
      // A little less, since resolutions are measured.
      let factor = min(Int((resolution / cell * 0.999).rounded(.up)), factorMax)
      return factor > 1 ? try ReliefRaster(relief.base, relief.style, factor: factor) : source
    }
  }

  func overview(factorMax: Double) throws -> (any RasterSource)? {
    guard factor == 1, let coarse = try base.overview(factorMax: factorMax) else { return nil }
    return try ReliefRaster(coarse, style)
  }

  func mayBeVisible(_ window: PixelRect) -> Bool {
    base.mayBeVisible(HeightWindow.coarse(window, factor: factor, margin: 0, base))
  }

  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    let lineWidth = window.width + 2
    return try withUnsafeTemporaryAllocation(of: Float.self, capacity: lineWidth * (window.height + 2)) { buffer in
      let heights = buffer.baseAddress!
      try HeightWindow.read(window, of: base, factor: factor, into: heights)
      var all = UInt32.max
      for y in 0..<window.height {
        let words = (target + y * rowBytes).assumingMemoryBound(to: UInt32.self)
        let line = heights + (y + 1) * lineWidth + 1
        ground.forEach(row: window.y + y, from: window.x, count: window.width) { x, matrix in
          let height = line[x]
          guard !height.isNaN else {
            words[x] = 0
            all = 0
            return
          }
          let (across, down) = Self.slope(line + x, lineWidth)
          let word = shader.word(
            height: height, east: matrix.x * across + matrix.y * down, north: matrix.z * across + matrix.w * down)
          words[x] = word
          all &= word
        }
      }
      return all >> 24 == 255
    }
  }

  /// Horn's differences of heights to the right and downwards, for one pixel.
  ///
  /// - Parameter p: the height in the middle; eight more lie around it, and those that are missing are NaN.
  @inline(__always)
  private static func slope(_ p: UnsafePointer<Float>, _ lineWidth: Int) -> (across: Double, down: Double) {
    var a = p[-lineWidth &- 1]
    var b = p[-lineWidth]
    var c = p[-lineWidth &+ 1]
    var d = p[-1]
    var f = p[1]
    var g = p[lineWidth &- 1]
    var h = p[lineWidth]
    var i = p[lineWidth &+ 1]
    if (a + b + c + d + f + g + h + i).isNaN {
      // Along the rows first, as gdaldem does at the edges of a model, and then along the columns.
      (a, c) = filled(a, c, middle: b)
      (d, f) = filled(d, f, middle: p[0])
      (g, i) = filled(g, i, middle: h)
      (a, g) = filled(a, g, middle: d)
      (b, h) = filled(b, h, middle: p[0])
      (c, i) = filled(c, i, middle: f)
    }
    let across = (Double(c) + 2 * Double(f) + Double(i)) - (Double(a) + 2 * Double(d) + Double(g))
    let down = (Double(g) + 2 * Double(h) + Double(i)) - (Double(a) + 2 * Double(b) + Double(c))
    return (across / 8, down / 8)
  }

  /// Two opposite heights, of which a missing one continues the slope from the other to the middle.
  @inline(never)
  private static func filled(_ a: Float, _ b: Float, middle: Float) -> (Float, Float) {
    switch (a.isNaN, b.isNaN) {
    case (true, true): (middle, middle)
    case (true, false): (2 * middle - b, b)
    case (false, true): (a, 2 * middle - a)
    case (false, false): (a, b)
    }
  }
}
