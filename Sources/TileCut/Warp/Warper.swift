import TileImage
import TileIndex

/// Computes target pixels from one source. One per source and worker thread.
///
/// For each tile:
/// 1. Map it to the source (``PixelMapper``): a shift by whole pixels, two axes (x by column, y by row; ``AxisMap``),
///    or a ``TransformGrid``, refined where necessary.
/// 2. Size the kernels to the scale at each pixel (``KernelShape``).
/// 3. Decode the window of the source under the kernels, in pieces if it is large (``SourceWindow``).
/// 4. Copy pixels, pick the nearest, or sum weighted premultiplied pixels (``PixelWeigher``); write straight RGBA8.
///
/// A pixel's value does not depend on how the tile is clipped or divided.
package final class Warper {
  let source: any RasterSource
  let mapper: PixelMapper
  let resampling: Resampling
  let scratch: WarpScratch
  /// How far beyond the source's edge pixels are drawn, with the colours on the edge; in source pixels, at most 1.
  let reach: Double
  var window: SourceWindow { scratch.window }

  /// The maximum number of source pixels decoded for one piece of a tile; 20 bytes each.
  let windowPixelsMax: Int

  /// 5 MB in every worker. A tile's window is larger only with wide kernels or a strongly rotated source.
  package static let windowPixelsMax = 1 << 18

  /// - Parameters:
  ///   - reach: how far beyond the source's edge pixels are drawn, in source pixels, at most 1.
  ///   - scratch: shared by the warpers of a worker, which run one after the other.
  package init(
    source: any RasterSource, target: CoordinateReferenceSystem, grid: PixelGrid, resampling: Resampling,
    reach: Double = 0, scratch: WarpScratch = WarpScratch(), windowPixelsMax: Int = Warper.windowPixelsMax
  ) throws {
    self.source = source
    self.resampling = resampling
    self.scratch = scratch
    self.reach = reach
    self.windowPixelsMax = windowPixelsMax
    mapper = try PixelMapper(source: source, target: target, grid: grid, scratch: scratch)
  }

  /// Draws the source's part of a tile.
  ///
  /// - Parameters:
  ///   - tile: in target pixels of the working zoom.
  ///   - clip: the part of the tile to draw; nil draws all of it.
  ///   - buffer: of the tile's size, transparent where nothing has been drawn. Pixels outside the source stay
  ///     unchanged.
  /// - Returns: true if at least one pixel may have been drawn.
  func warp(_ tile: PixelRect, clip: PixelRect? = nil, into buffer: PixelBuffer) throws -> Bool {
    guard let clip = tile.intersection(clip ?? tile) else { return false }
    let canvas = Canvas(tile: tile, clip: clip, buffer: buffer)
    if let (columns, rows) = mapper.separableAxes(tile) {
      if reach > 0 {
        return try warpSeparable(
          canvas, columns.pulledIn(by: reach, limit: source.width), rows.pulledIn(by: reach, limit: source.height))
      }
      if let shift = Self.shift(columns: columns.positions, rows: rows.positions) {
        return try copy(canvas, shift: shift)
      }
      return try warpSeparable(canvas, columns, rows)
    }
    return try warpGeneral(tile, spacing: TransformGrid.spacingMax, on: canvas)
  }

  /// The shift from the tile to the source if both have the same pixels, within 1/500 of a pixel; else nil.
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
    // The source's extent in target pixels.
    let origin = (x: canvas.tile.x - shift.dx, y: canvas.tile.y - shift.dy)
    let ground = PixelRect(x: origin.x, y: origin.y, width: source.width, height: source.height)
    guard let part = canvas.clip.intersection(ground) else { return false }
    let window = PixelRect(x: part.x - origin.x, y: part.y - origin.y, width: part.width, height: part.height)
    guard source.mayBeVisible(window) else { return false }
    _ = try source.read(window, into: canvas.pointer(x: part.x, y: part.y), rowBytes: canvas.buffer.rowBytes)
    return true
  }

  /// True if a window is better read in parts: it is too large for one piece, or it is large and part of it is missing
  /// in the source.
  func isBetterDivided(_ window: PixelRect) -> Bool {
    let count = window.width * window.height
    guard count > windowPixelsMax / 4 else { return false }
    if count > windowPixelsMax { return true }
    let (width, height) = (window.width / 2, window.height / 2)
    guard width > 0, height > 0 else { return false }
    return [(0, 0), (width, 0), (0, height), (width, height)].contains { x, y in
      !source.mayBeVisible(PixelRect(x: window.x + x, y: window.y + y, width: width, height: height))
    }
  }

  /// The source pixels under the kernels around a box of positions, clipped to the source; empty if the box lies
  /// outside.
  func windowRect(low: SIMD2<Double>, high: SIMD2<Double>, radius: SIMD2<Double>) -> PixelRect {
    let limit = SIMD2(Double(source.width), Double(source.height))
    let start = pointwiseMax((low - radius - 1).rounded(.down), .zero)
    let end = pointwiseMin((high + radius + 1).rounded(.up), limit)
    guard start.x < end.x, start.y < end.y else { return PixelRect(x: 0, y: 0, width: 0, height: 0) }
    return PixelRect(x: Int(start.x), y: Int(start.y), width: Int(end.x - start.x), height: Int(end.y - start.y))
  }
}

/// The tile that is being drawn. All coordinates are target pixels of the working zoom.
struct Canvas {
  /// The whole tile. It determines the mapping and the kernels, whatever part of it is drawn.
  let tile: PixelRect
  /// The part of the tile that may be drawn on.
  let clip: PixelRect
  /// Has the tile's size.
  let buffer: PixelBuffer

  /// The buffer's bytes from a target pixel on.
  func pointer(x: Int, y: Int) -> UnsafeMutableRawPointer {
    buffer.bytes + (y &- tile.y) &* buffer.rowBytes + (x &- tile.x) &* 4
  }
}
