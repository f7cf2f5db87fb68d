import TestSupport
import TileImage
import TileIndex

@testable import TileCut

/// One source, and the pixel grid of one zoom to draw it on.
struct WarpFixture {
  let source: ArraySource
  let matrixSet: TileMatrixSet
  let zoom: Int
  let footprint: SourceFootprint
  private let target: CoordinateReferenceSystem

  /// - Parameter above: zooms above the source's native one.
  init(_ source: ArraySource, _ matrixSet: TileMatrixSet = .webMercatorQuad, above: Int = 0) throws {
    target = try CoordinateReferenceSystem(definition: matrixSet.crs)
    // Coarser than in a cut, for speed.
    footprint = try SourceFootprint(source: source, target: target, matrixSet: matrixSet, steps: 16)
    zoom = max(matrixSet.nearestZoom(toCellSize: footprint.resolution) - above, 0)
    self.source = source
    self.matrixSet = matrixSet
  }

  var grid: PixelGrid { PixelGrid(matrixSet[zoom], wraps: matrixSet.isGlobal) }

  func mapper() throws -> PixelMapper { try PixelMapper(source: source, target: target, grid: grid) }

  func warper(_ resampling: Resampling, windowPixelsMax: Int = Warper.windowPixelsMax) throws -> Warper {
    try Warper(source: source, target: target, grid: grid, resampling: resampling, windowPixelsMax: windowPixelsMax)
  }

  func reference(_ resampling: Resampling) throws -> WarpReference {
    try WarpReference(source, matrixSet: matrixSet, zoom: zoom, resampling)
  }

  /// Rectangles of target pixels that touch the source.
  func rects(_ count: Int, edge: Int, _ random: inout SeededGenerator) -> [PixelRect] {
    let matrix = matrixSet[zoom]
    let grid = grid
    return (0..<count).map { _ in
      let box = footprint.boxes.randomElement(using: &random)!
      let middle = matrix.pixelCoordinates(of: SIMD2((box.west + box.east) / 2, (box.south + box.north) / 2))
      let x = Int(middle.x) - Int.random(in: 0..<edge, using: &random)
      let y = Int(middle.y) - Int.random(in: 0..<edge, using: &random)
      return PixelRect(
        x: min(max(x, 0), grid.width - edge), y: min(max(y, 0), grid.height - edge), width: edge, height: edge)
    }
  }
}

extension Warper {
  func draw(_ rect: PixelRect, clip: PixelRect? = nil) throws -> PixelBuffer {
    let buffer = PixelBuffer(width: rect.width, height: rect.height)
    _ = try warp(rect, clip: clip, into: buffer)
    return buffer
  }
}

extension PixelBuffer {
  subscript(x: Int, y: Int) -> SIMD4<UInt8> {
    get { bytes.loadUnaligned(fromByteOffset: (y * width + x) * 4, as: SIMD4<UInt8>.self) }
    set { bytes.storeBytes(of: newValue, toByteOffset: (y * width + x) * 4, as: SIMD4<UInt8>.self) }
  }

  /// The largest difference of any channel, with colours weighted by alpha.
  func distance(to other: PixelBuffer) -> Double {
    var worst = 0.0
    for y in 0..<height {
      for x in 0..<width {
        let (p, q) = (self[x, y], other[x, y])
        let alpha = Double(max(p.w, q.w)) / 255
        worst = max(worst, abs(Double(p.w) - Double(q.w)))
        for c in 0..<3 { worst = max(worst, abs(Double(p[c]) - Double(q[c])) * alpha) }
      }
    }
    return worst
  }
}
