import TileImage
import TileIndex

/// Computes target pixels from one source. One per source and worker thread.
///
/// For each tile:
/// 1. map it to the source: a shift by whole pixels, a pair of axes (x by column, y by row), or a ``TransformGrid`` that is refined where it must be;
/// 2. size the kernels to the scale of that map at each pixel;
/// 3. decode the window of the source that the kernels touch, piece by piece when it would be large;
/// 4. copy, pick, or weigh premultiplied pixels, and write straight RGBA8.
///
/// What a pixel becomes does not depend on how the tile is clipped or divided.
package final class Warper {
  let source: any RasterSource
  let mapper: PixelMapper
  let resampling: Resampling
  let scratch: WarpScratch
  var window: SourceWindow { scratch.window }

  /// The most source pixels that are decoded for one piece of a tile: 20 bytes each.
  let windowPixelsMax: Int

  /// 5 MB in every worker. A tile's window is larger only where kernels are wide, or the ground lies askew.
  package static let windowPixelsMax = 1 << 18

  /// - Parameter scratch: shared by the warpers of a worker, which take turns.
  package init(
    source: any RasterSource, target: CoordinateReferenceSystem, grid: PixelGrid, resampling: Resampling,
    scratch: WarpScratch = WarpScratch(), windowPixelsMax: Int = Warper.windowPixelsMax
  ) throws {
    self.source = source
    self.resampling = resampling
    self.scratch = scratch
    self.windowPixelsMax = windowPixelsMax
    mapper = try PixelMapper(source: source, target: target, grid: grid)
  }

  /// Draws the source's part of a tile.
  ///
  /// - Parameters:
  ///   - tile: in the target's pixels at the working zoom.
  ///   - clip: the part of it outside which nothing is drawn; all of it when nil.
  ///   - buffer: of the tile's size, transparent where nothing was drawn yet; what this source does not cover is left as it is.
  /// - Returns: true when at least one pixel may have been drawn.
  func warp(_ tile: PixelRect, clip: PixelRect? = nil, into buffer: PixelBuffer) throws -> Bool {
    guard let clip = tile.intersection(clip ?? tile) else { return false }
    let canvas = Canvas(tile: tile, clip: clip, buffer: buffer)
    if let (columns, rows) = mapper.separableAxes(tile) {
      if let shift = Self.shift(columns: columns.positions, rows: rows.positions) {
        return try copy(canvas, shift: shift)
      }
      return try warpSeparable(canvas, columns, rows)
    }
    return try warpGeneral(tile, spacing: TransformGrid.spacingMax, on: canvas)
  }

  /// The whole-pixel shift from the tile to the source when both have the same pixels, within 1/500 of a pixel.
  static func shift(columns: [Double], rows: [Double]) -> (dx: Int, dy: Int)? {
    let tolerance = 0.002
    let x0 = (columns[0] - 0.5).rounded()
    let y0 = (rows[0] - 0.5).rounded()
    guard x0.isFinite, y0.isFinite, abs(x0) < 1e15, abs(y0) < 1e15 else { return nil }
    for (values, start) in [(columns, x0), (rows, y0)] {
      for i in values.indices where !(abs(values[i] - 0.5 - start - Double(i)) <= tolerance) { return nil }
    }
    return (Int(x0), Int(y0))
  }

  /// Copies pixels that need no resampling.
  private func copy(_ canvas: Canvas, shift: (dx: Int, dy: Int)) throws -> Bool {
    // Where the source lies among the target's pixels.
    let origin = (x: canvas.tile.x - shift.dx, y: canvas.tile.y - shift.dy)
    let ground = PixelRect(x: origin.x, y: origin.y, width: source.width, height: source.height)
    guard let part = canvas.clip.intersection(ground) else { return false }
    let window = PixelRect(x: part.x - origin.x, y: part.y - origin.y, width: part.width, height: part.height)
    _ = try source.read(window, into: canvas.pointer(x: part.x, y: part.y), rowBytes: canvas.buffer.rowBytes)
    return true
  }

  /// The source pixels that kernels reach from a box of positions, cut off at the source's edges; empty when the box lies outside.
  func windowRect(low: SIMD2<Double>, high: SIMD2<Double>, radius: SIMD2<Double>) -> PixelRect {
    let limit = SIMD2(Double(source.width), Double(source.height))
    let start = pointwiseMax((low - radius - 1).rounded(.down), .zero)
    let end = pointwiseMin((high + radius + 1).rounded(.up), limit)
    guard start.x < end.x, start.y < end.y else { return PixelRect(x: 0, y: 0, width: 0, height: 0) }
    return PixelRect(x: Int(start.x), y: Int(start.y), width: Int(end.x - start.x), height: Int(end.y - start.y))
  }
}

/// The tile that is being drawn. All coordinates are target pixels at the working zoom.
struct Canvas {
  /// The tile: the map to the source, and with it the kernels, are those of the whole tile whatever part of it is drawn.
  let tile: PixelRect
  /// The part of the tile that may be drawn on.
  let clip: PixelRect
  /// Of the tile's size.
  let buffer: PixelBuffer

  /// The buffer's bytes from a target pixel on.
  func pointer(x: Int, y: Int) -> UnsafeMutableRawPointer {
    buffer.bytes + (y &- tile.y) &* buffer.rowBytes + (x &- tile.x) &* 4
  }
}
