package import TileIndex

/// Maps target pixels to source pixels exactly: pixel grid, then PROJ, then the source's affine transformation or
/// control points. One per worker thread and source.
package final class PixelMapper {
  package let grid: PixelGrid
  private let targetToSource: CoordinateTransform
  private let georeference: Georeference
  private let sourceToPixel: Affine
  private let period: Double?
  private let centreX: Double
  /// The target pixel that contains the source's centre; nil if the centre has no image.
  private let centrePixel: SIMD2<Double>?
  private var columnCache = AxisCache()
  private var rowCache = AxisCache()
  /// At the coarsest zooms a projection may map distant points onto the raster. There each point must also map back to
  /// itself.
  private let checksRoundTrip: Bool

  /// - Parameter scratch: of the worker that uses the mapper.
  package init(
    source: any RasterSource, target: CoordinateReferenceSystem, grid: PixelGrid, scratch: WarpScratch = WarpScratch()
  ) throws {
    let georeference = source.georeference
    guard let inverse = georeference.affine.inverse else {
      throw CutError(
        .noGeoreference, path: source.path, "its georeference maps all pixels to a line",
        remedy: "correct the pixel size, or place the image with --bounds W,S,E,N and --crs")
    }
    self.grid = grid
    self.georeference = georeference
    sourceToPixel = inverse
    let transform = try CoordinateTransform(
      from: target, to: georeference.crs, areaOfInterest: source.areaOfInterest, in: scratch.projContext())
    targetToSource = transform
    let centre = georeference.place(ofPixel: SIMD2(Double(source.width) / 2, Double(source.height) / 2))
    centreX = centre.x
    period = georeference.crs.horizontalPeriod
    var middle = [centre]
    middle.withUnsafeMutableBufferPointer { transform.inverse($0) }
    let pixel = grid.pixel(middle[0])
    centrePixel =
      pixel.x.isFinite && pixel.y.isFinite
      ? SIMD2(pixel.x.rounded(.down) + 0.5, pixel.y.rounded(.down) + 0.5) : nil
    checksRoundTrip = !transform.isIdentity && period == nil && grid.width <= 256 << 5
  }

  /// Replaces target pixel coordinates by source pixel coordinates. Points outside of the source CRS become NaN.
  package func toSource(_ points: UnsafeMutableBufferPointer<SIMD2<Double>>) {
    for i in points.indices { points[i] = grid.crs(points[i]) }
    if checksRoundTrip {
      let originals = Array(points)
      targetToSource.transform(points)
      var back = Array(points)
      back.withUnsafeMutableBufferPointer { targetToSource.inverse($0) }
      for i in points.indices {
        let away = back[i] - originals[i]
        // A difference of almost the whole width is the same meridian on the other side.
        let dx = abs(away.x) > Double(grid.width) * grid.cellSize * 0.9 ? 0 : away.x
        if !(abs(dx) < grid.cellSize && abs(away.y) < grid.cellSize) { points[i] = SIMD2(repeating: .nan) }
      }
    } else {
      targetToSource.transform(points)
    }
    if let period {
      for i in points.indices { points[i].x += period * ((centreX - points[i].x) / period).rounded() }
    }
    if let controlPoints = georeference.controlPoints {
      for i in points.indices { points[i] = controlPoints.pixel(at: points[i]) }
    } else {
      for i in points.indices { points[i] = sourceToPixel(points[i]) }
    }
  }

  /// Replaces source pixel coordinates by target pixel coordinates. Points outside of the target CRS become NaN.
  package func toTarget(_ points: UnsafeMutableBufferPointer<SIMD2<Double>>) {
    for i in points.indices { points[i] = georeference.place(ofPixel: points[i]) }
    targetToSource.inverse(points)
    for i in points.indices { points[i] = grid.pixel(points[i]) }
  }

  /// The source x of each pixel column of a tile and the source y of each pixel row, if x depends on the column alone
  /// and y on the row alone; else nil.
  ///
  /// Columns are computed along the pixel row that contains the source's centre, rows along its pixel column. They do
  /// not depend on the tiles cut before, so the result is the same on any number of threads.
  package func separableAxes(_ rect: PixelRect) -> (columns: AxisMap, rows: AxisMap)? {
    guard let centrePixel else { return nil }
    // Rotations and datum shifts show at the corners and in the middle.
    let xs = [0, rect.width / 2, rect.width - 1]
    let ys = [0, rect.height / 2, rect.height - 1]
    var probes: [SIMD2<Double>] = []
    for y in ys { for x in xs { probes.append(SIMD2(Double(rect.x + x) + 0.5, Double(rect.y + y) + 0.5)) } }
    probes.withUnsafeMutableBufferPointer { toSource($0) }
    let tolerance = 1.0 / 2048
    // A cheap test before whole axes are computed.
    for j in 0..<3 {
      for i in 0..<3 {
        guard abs(probes[j * 3 + i].x - probes[i].x) <= tolerance,
          abs(probes[j * 3 + i].y - probes[j * 3].y) <= tolerance
        else { return nil }
      }
    }
    let columns = columnCache.axis(start: rect.x, count: rect.width) {
      vector(count: rect.width) { SIMD2(Double(rect.x + $0) + 0.5, centrePixel.y) }.map(\.x)
    }
    let rows = rowCache.axis(start: rect.y, count: rect.height) {
      vector(count: rect.height) { SIMD2(centrePixel.x, Double(rect.y + $0) + 0.5) }.map(\.y)
    }
    for j in 0..<3 {
      for i in 0..<3 {
        let probe = probes[j * 3 + i]
        guard abs(probe.x - columns.positions[xs[i]]) <= tolerance, abs(probe.y - rows.positions[ys[j]]) <= tolerance
        else { return nil }
      }
    }
    return (columns, rows)
  }

  private func vector(count: Int, _ point: (Int) -> SIMD2<Double>) -> [SIMD2<Double>] {
    var points = (0..<count).map(point)
    points.withUnsafeMutableBufferPointer { toSource($0) }
    return points
  }
}

/// The axes of the last tile columns or rows. Neighbouring tiles share them, so PROJ is called once for them.
private struct AxisCache {
  private struct Entry {
    let start: Int
    let count: Int
    let axis: AxisMap
  }
  private var entries: [Entry] = []
  private var next = 0
  private let capacity = 16

  mutating func axis(start: Int, count: Int, positions: () -> [Double]) -> AxisMap {
    if let hit = entries.first(where: { $0.start == start && $0.count == count }) { return hit.axis }
    let entry = Entry(start: start, count: count, axis: AxisMap(positions()))
    if entries.count < capacity { entries.append(entry) } else { entries[next % capacity] = entry }
    next += 1
    return entry.axis
  }
}

/// The pixels of a tile matrix: maps pixel coordinates, counted from its top left corner, to the target CRS and back.
package struct PixelGrid: Sendable {
  /// The matrix's top left corner, in CRS units.
  package let origin: SIMD2<Double>
  /// The edge of a pixel, in CRS units.
  package let cellSize: Double
  /// Pixels across and down.
  package let width: Int
  package let height: Int
  /// True if the left and the right edge are the same meridian.
  package let wraps: Bool

  package init(_ matrix: TileMatrix, wraps: Bool) {
    origin = SIMD2(matrix.origin.x, matrix.origin.y)
    cellSize = matrix.cellSize
    width = matrix.matrixWidth * matrix.tileWidth
    height = matrix.matrixHeight * matrix.tileHeight
    self.wraps = wraps
  }

  /// CRS coordinates of a point in pixels.
  package func crs(_ p: SIMD2<Double>) -> SIMD2<Double> {
    SIMD2(origin.x + p.x * cellSize, origin.y - p.y * cellSize)
  }

  /// Pixel coordinates of a point in CRS units.
  package func pixel(_ p: SIMD2<Double>) -> SIMD2<Double> {
    SIMD2((p.x - origin.x) / cellSize, (origin.y - p.y) / cellSize)
  }
}

/// One axis of a separable mapping: the source coordinate of each pixel column, or of each pixel row, of a tile.
package struct AxisMap: Sendable {
  /// In source pixels; NaN where the target has no source.
  package let positions: [Double]
  /// Source pixels per target pixel at each position.
  package let scales: [Double]

  package init(_ positions: [Double]) {
    self.positions = positions
    let steps = zip(positions, positions.dropFirst()).map { abs($1 - $0) }
    scales = positions.indices.map { i in
      // At both ends the second step stands in for the missing one; it shows whether the first step is a jump.
      let before = i > 0 ? i - 1 : 1
      let after = i < steps.count ? i : i - 2
      return MapStep.length(
        steps.indices.contains(before) ? steps[before] : .nan, steps.indices.contains(after) ? steps[after] : .nan)
    }
  }

  private init(_ positions: [Double], scales: [Double]) { (self.positions, self.scales) = (positions, scales) }

  /// The axis with positions beyond the source's edge moved onto it.
  func pulledIn(by reach: Double, limit: Int) -> AxisMap {
    AxisMap(positions.map { EdgeReach.pull($0, by: reach, limit: Double(limit)) }, scales: scales)
  }

  /// The runs of indices whose positions lie inside the source without a jump.
  ///
  /// There are several if the tile crosses the antimeridian of the source's centre, where positions jump by a full
  /// turn.
  package func runs(_ indices: Range<Int>, limit: Int) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    var start: Int?
    for i in indices {
      let isInside = positions[i] >= 0 && positions[i] < Double(limit)
      if let first = start {
        let step = abs(positions[i] - positions[i - 1])
        if isInside, step <= 4 * max(scales[i - 1], scales[i]) { continue }
        runs.append(first..<i)
      }
      start = isInside ? i : nil
    }
    if let first = start { runs.append(first..<indices.upperBound) }
    return runs
  }
}

/// The distance between the source positions of neighbouring target pixels.
enum MapStep {
  /// The step at a pixel, from the steps on both sides, which are NaN where the mapping ends.
  ///
  /// A step that crosses the antimeridian is many times the other; then the other one is used.
  @inline(__always)
  static func length(_ a: Double, _ b: Double) -> Double {
    guard a.isFinite else { return b.isFinite ? b : 1 }
    guard b.isFinite else { return a }
    let (less, more) = a < b ? (a, b) : (b, a)
    return more > 2 * less ? less : (less + more) / 2
  }
}

/// Positions beyond a raster's edge, moved to it.
enum EdgeReach {
  /// The position, moved onto the nearest pixel if it lies at most `reach` beyond the edge.
  @inline(__always)
  static func pull(_ position: Double, by reach: Double, limit: Double) -> Double {
    if position < 0, position >= -reach { return 0 }
    return position >= limit && position <= limit + reach ? limit.nextDown : position
  }
}
