import TileIndex

/// Maps target pixels to source pixels, exactly: pixel grid, PROJ, the source's affine map. One per worker thread and source.
package final class PixelMapper {
  package let grid: PixelGrid
  private let targetToSource: CoordinateTransform
  private let sourceAffine: Affine
  private let sourceToPixel: Affine
  private let period: Double?
  private let centreX: Double
  /// The target pixel under the source's centre.
  private let spine: SIMD2<Double>?
  private var columnCache = AxisCache()
  private var rowCache = AxisCache()
  /// On the coarsest levels a projection may fold far-away ground onto the raster: there each point must also map back to itself.
  private let checksRoundTrip: Bool

  package init(source: any RasterSource, target: CoordinateReferenceSystem, grid: PixelGrid) throws {
    let georeference = source.georeference
    guard let inverse = georeference.affine.inverse else {
      throw CutError(
        .noGeoreference, path: source.path, "its georeference maps all pixels to a line",
        remedy: "correct the pixel size, or place the image with --bounds W,S,E,N and --crs")
    }
    self.grid = grid
    sourceAffine = georeference.affine
    sourceToPixel = inverse
    let transform = try CoordinateTransform(
      from: target, to: georeference.crs, areaOfInterest: source.areaOfInterest)
    targetToSource = transform
    let centre = georeference.affine(SIMD2(Double(source.width) / 2, Double(source.height) / 2))
    centreX = centre.x
    period = georeference.crs.horizontalPeriod
    var middle = [centre]
    middle.withUnsafeMutableBufferPointer { transform.inverse($0) }
    let pixel = grid.pixel(middle[0])
    spine =
      pixel.x.isFinite && pixel.y.isFinite
      ? SIMD2(pixel.x.rounded(.down) + 0.5, pixel.y.rounded(.down) + 0.5) : nil
    checksRoundTrip = !transform.isIdentity && period == nil && grid.width <= 256 << 5
  }

  /// Replaces target pixel coordinates by source pixel coordinates; what has no source becomes NaN.
  package func toSource(_ points: UnsafeMutableBufferPointer<SIMD2<Double>>) {
    for i in points.indices { points[i] = grid.crs(points[i]) }
    if checksRoundTrip {
      let originals = Array(points)
      targetToSource.transform(points)
      var back = Array(points)
      back.withUnsafeMutableBufferPointer { targetToSource.inverse($0) }
      for i in points.indices {
        let away = back[i] - originals[i]
        // Half the world away is the same meridian seen from the other side.
        let dx = abs(away.x) > Double(grid.width) * grid.cellSize * 0.9 ? 0 : away.x
        if !(abs(dx) < grid.cellSize && abs(away.y) < grid.cellSize) { points[i] = SIMD2(repeating: .nan) }
      }
    } else {
      targetToSource.transform(points)
    }
    for i in points.indices {
      var p = points[i]
      if let period { p.x += period * ((centreX - p.x) / period).rounded() }
      points[i] = sourceToPixel(p)
    }
  }

  /// Replaces source pixel coordinates by target pixel coordinates; what has no target becomes NaN.
  package func toTarget(_ points: UnsafeMutableBufferPointer<SIMD2<Double>>) {
    for i in points.indices { points[i] = sourceAffine(points[i]) }
    targetToSource.inverse(points)
    for i in points.indices { points[i] = grid.pixel(points[i]) }
  }

  /// The map of a tile's pixel columns to source x and of its pixel rows to source y, when x depends on the column alone and y on the row alone; nil otherwise.
  ///
  /// Columns are computed along the row, and rows along the column, in which the source's centre lies, never along one that depends on
  /// which tile was cut before: that keeps the result the same on any number of threads.
  package func separableAxes(_ rect: PixelRect) -> (columns: AxisMap, rows: AxisMap)? {
    guard let spine else { return nil }
    // A rotation or a datum shift shows at the corners and the middle.
    let xs = [0, rect.width / 2, rect.width - 1]
    let ys = [0, rect.height / 2, rect.height - 1]
    var probes: [SIMD2<Double>] = []
    for y in ys { for x in xs { probes.append(SIMD2(Double(rect.x + x) + 0.5, Double(rect.y + y) + 0.5)) } }
    probes.withUnsafeMutableBufferPointer { toSource($0) }
    let tolerance = 1.0 / 2048
    // Cheap refusal before whole axes are computed.
    for j in 0..<3 {
      for i in 0..<3 {
        guard abs(probes[j * 3 + i].x - probes[i].x) <= tolerance,
          abs(probes[j * 3 + i].y - probes[j * 3].y) <= tolerance
        else { return nil }
      }
    }
    let columns = columnCache.axis(start: rect.x, count: rect.width) {
      vector(count: rect.width) { SIMD2(Double(rect.x + $0) + 0.5, spine.y) }.map(\.x)
    }
    let rows = rowCache.axis(start: rect.y, count: rect.height) {
      vector(count: rect.height) { SIMD2(spine.x, Double(rect.y + $0) + 0.5) }.map(\.y)
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

/// The axes of the last few tile columns or rows: neighbouring tiles share them, and PROJ is not asked twice.
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

extension RasterSource {
  /// Where the source lies in WGS 84 degrees, by which PROJ chooses among several datum shifts; nil when it cannot be told.
  var areaOfInterest: BoundingBox? { georeference.geographicBounds(width: width, height: height) }
}
