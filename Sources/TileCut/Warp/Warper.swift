package import TileImage
import TileIndex

/// Computes target pixels from one source. One per worker thread.
///
/// For each rectangle of target pixels:
/// 1. map it to the source: a shift by whole pixels, a pair of vectors (x by column, y by row), or a ``TransformGrid``;
/// 2. size the kernel to the scale of that map;
/// 3. decode the window of the source that the kernel touches, halving the rectangle until the window is small enough;
/// 4. copy, pick, or weigh premultiplied pixels, and write straight RGBA8.
package final class Warper {
  let source: any RasterSource
  let mapper: PixelMapper
  let resampling: Resampling
  let window = SourceWindow()
  var scratch = ResamplerScratch()

  /// The most source pixels that are decoded for one piece of a tile: 20 bytes each.
  static let windowPixelsMax = 1 << 20

  package init(
    source: any RasterSource, target: CoordinateReferenceSystem, grid: PixelGrid, resampling: Resampling
  ) throws {
    self.source = source
    self.resampling = resampling
    mapper = try PixelMapper(source: source, target: target, grid: grid)
  }

  /// Draws the source's part of a rectangle.
  ///
  /// - Parameters:
  ///   - rect: in the target's pixels at the working zoom.
  ///   - buffer: transparent where nothing was drawn yet; what this source does not cover is left as it is.
  ///   - x, y: where the rectangle's top left pixel lies in the buffer.
  /// - Returns: true when at least one pixel may have been drawn.
  package func warp(_ rect: PixelRect, into buffer: PixelBuffer, x: Int, y: Int) throws -> Bool {
    guard rect.width > 0, rect.height > 0 else { return false }
    let target = TargetPiece(rect: rect, buffer: buffer, x: x, y: y)
    if let (columns, rows) = mapper.separableVectors(rect) {
      if let shift = Self.shift(columns: columns, rows: rows) { return try copy(target, shift: shift) }
      return try warpSeparable(target, columns: columns[...], rows: rows[...])
    }
    let margin = 64.0
    guard
      let grid = TransformGrid(
        rect, mapper: mapper, sourceWidth: source.width, sourceHeight: source.height, margin: margin)
    else { return false }
    return try warpGeneral(target, grid: grid)
  }

  /// The whole-pixel shift from target to source when both have the same pixels, within 1/500 of a pixel.
  static func shift(columns: [Double], rows: [Double]) -> (dx: Int, dy: Int)? {
    let tolerance = 0.002
    let x0 = (columns[0] - 0.5).rounded()
    let y0 = (rows[0] - 0.5).rounded()
    guard x0.isFinite, y0.isFinite, abs(x0) < 1e15, abs(y0) < 1e15 else { return nil }
    for (values, start) in [(columns, x0), (rows, y0)] {
      for i in [0, values.count / 2, values.count - 1] where !(abs(values[i] - 0.5 - start - Double(i)) <= tolerance) {
        return nil
      }
    }
    return (Int(x0), Int(y0))
  }

  /// Copies pixels that need no resampling.
  private func copy(_ target: TargetPiece, shift: (dx: Int, dy: Int)) throws -> Bool {
    let x0 = max(shift.dx, 0)
    let y0 = max(shift.dy, 0)
    let x1 = min(shift.dx + target.rect.width, source.width)
    let y1 = min(shift.dy + target.rect.height, source.height)
    guard x0 < x1, y0 < y1 else { return false }
    let pixels = target.pointer(column: x0 - shift.dx, row: y0 - shift.dy)
    _ = try source.read(
      PixelRect(x: x0, y: y0, width: x1 - x0, height: y1 - y0), into: pixels, rowBytes: target.buffer.rowBytes)
    return true
  }
}

/// A rectangle of the target and where it is drawn.
struct TargetPiece {
  var rect: PixelRect
  let buffer: PixelBuffer
  var x: Int
  var y: Int

  /// The buffer's pixel for a column and row of the rectangle.
  func pointer(column: Int, row: Int) -> UnsafeMutableRawPointer {
    buffer.bytes + (y + row) * buffer.rowBytes + (x + column) * 4
  }

  /// The part of the rectangle from a column and row on.
  func part(column: Int, row: Int, width: Int, height: Int) -> TargetPiece {
    TargetPiece(
      rect: PixelRect(x: rect.x + column, y: rect.y + row, width: width, height: height), buffer: buffer,
      x: x + column, y: y + row)
  }
}

/// Working memory of the resampling loops, kept between tiles.
final class ResamplerScratch {
  private(set) var row: UnsafeMutablePointer<SIMD4<Float>> = .allocate(capacity: 1)
  private(set) var weights: UnsafeMutablePointer<Float> = .allocate(capacity: 1)
  private(set) var coordinates: UnsafeMutablePointer<Double> = .allocate(capacity: 1)
  private var capacities = (row: 1, weights: 1, coordinates: 1)

  func reserve(row count: Int) {
    guard count > capacities.row else { return }
    row.deallocate()
    row = .allocate(capacity: count)
    capacities.row = count
  }

  func reserve(weights count: Int) {
    guard count > capacities.weights else { return }
    weights.deallocate()
    weights = .allocate(capacity: count)
    capacities.weights = count
  }

  func reserve(coordinates count: Int) {
    guard count > capacities.coordinates else { return }
    coordinates.deallocate()
    coordinates = .allocate(capacity: count)
    capacities.coordinates = count
  }

  deinit {
    row.deallocate()
    weights.deallocate()
    coordinates.deallocate()
  }
}
