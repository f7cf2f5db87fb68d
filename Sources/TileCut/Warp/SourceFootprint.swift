package import TileIndex

/// The area that a source covers in a tile matrix set, and its resolution there, found by transforming a mesh of its
/// pixels.
package struct SourceFootprint: Sendable {
  /// Boxes in target CRS units that together cover the source where it has blocks, clipped to the matrix set. They may
  /// overlap.
  package let boxes: [BoundingBox]
  /// The bounding box of ``boxes``.
  package var reach: BoundingBox { boxes.dropFirst().reduce(boxes[0]) { $0.union($1) } }
  /// The source's outline in target CRS units, clipped to the matrix set: a box, or two if the source crosses the
  /// antimeridian. The first of the two touches the eastern edge of the matrix set, the other the western.
  package let outlines: [BoundingBox]
  /// The bounding box of ``outlines``.
  package var outline: BoundingBox { outlines.dropFirst().reduce(outlines[0]) { $0.union($1) } }
  /// The edge of a source pixel in target CRS units: the median over the mesh of the square root of a pixel's area.
  package let resolution: Double

  static let meshStepsRange = 8...64

  /// How many cells a mesh has along each axis so that the boxes of all cells of all sources fit into memory. Boxes of
  /// fewer cells hold more ground beside the source.
  static func meshSteps(sourceCount: Int) -> Int {
    let steps = Int((400_000 / Double(max(sourceCount, 1))).squareRoot())
    return min(max(steps, meshStepsRange.lowerBound), meshStepsRange.upperBound)
  }

  /// - Parameter steps: cells of the mesh along each axis.
  /// - Throws: ``CutError`` if the source lies entirely outside the matrix set.
  package init(
    source: any RasterSource, target: CoordinateReferenceSystem, matrixSet: TileMatrixSet,
    steps: Int = SourceFootprint.meshStepsRange.upperBound
  ) throws {
    let mesh = try Mesh(source: source, target: target, steps: steps)
    let world = matrixSet.boundingBox
    let period = matrixSet.isGlobal ? world.width : nil
    var boxes: [BoundingBox] = []
    var visibleBoxes: [BoundingBox] = []
    var emptyBoxes: [BoundingBox] = []
    var resolutions: [Double] = []
    for row in 0..<mesh.rows {
      for column in 0..<mesh.columns {
        guard source.mayBeVisible(mesh.pixels(column, row)) else { continue }
        guard let cell = mesh.cell(column, row, period: period) else { continue }
        for box in Self.normalised(cell.reach, world: world, period: period) {
          guard let visible = Self.visible(box, in: world) else { continue }
          if mesh.mayBeVisible(column, row) { boxes.append(visible) } else { emptyBoxes.append(visible) }
        }
        for box in Self.normalised(cell.box, world: world, period: period) {
          guard let visible = Self.visible(box, in: world) else { continue }
          visibleBoxes.append(visible)
          if cell.resolution.isFinite, cell.resolution > 0 { resolutions.append(cell.resolution) }
        }
      }
    }
    for cap in mesh.polarCaps(in: world) {
      boxes.append(cap)
      visibleBoxes.append(cap)
    }
    guard !visibleBoxes.isEmpty, !resolutions.isEmpty else {
      throw CutError(
        .noGeoreference, path: source.path, "it lies wholly outside \(matrixSet.identifier)",
        remedy: "check its CRS and bounds (gdalinfo shows them), or give --crs")
    }
    outlines = Self.outlines(visibleBoxes, world: world, isGlobal: matrixSet.isGlobal)
    self.boxes = boxes.isEmpty ? emptyBoxes : boxes
    resolutions.sort()
    resolution = resolutions[resolutions.count / 2]
  }

  /// The same source in the boxes of its parts, between which there may be nothing.
  init(_ whole: SourceFootprint, parts: [SourceFootprint]) {
    (outlines, resolution) = (whole.outlines, whole.resolution)
    boxes = parts.isEmpty ? whole.boxes : parts.flatMap(\.boxes)
  }

  private static func visible(_ box: BoundingBox, in world: BoundingBox) -> BoundingBox? {
    guard let visible = box.intersection(world), visible.width > 0, visible.height > 0 else { return nil }
    return visible
  }

  /// The bounding box of some boxes; two if they meet at the antimeridian and leave a gap elsewhere, because together
  /// the two are far smaller then. The first of the two touches the eastern edge of the world, the other the western.
  static func outlines(_ boxes: [BoundingBox], world: BoundingBox, isGlobal: Bool) -> [BoundingBox] {
    let whole = boxes.dropFirst().reduce(boxes[0]) { $0.union($1) }
    let tolerance = world.width * 1e-9
    guard isGlobal, whole.west <= world.west + tolerance, whole.east >= world.east - tolerance else { return [whole] }
    var gap = (west: 0.0, east: 0.0)
    var reach = whole.west
    for box in boxes.sorted(by: { $0.west < $1.west }) {
      if box.west - reach > max(gap.east - gap.west, tolerance) { gap = (reach, box.west) }
      reach = max(reach, box.east)
    }
    guard gap.east > gap.west else { return [whole] }
    let sides = [boxes.filter { $0.west >= gap.east }, boxes.filter { $0.east <= gap.west }]
    return sides.map { side in side.dropFirst().reduce(side[0]) { $0.union($1) } }
  }

  /// A box moved into the matrix set's extent, in two pieces if it crosses the antimeridian.
  private static func normalised(_ box: BoundingBox, world: BoundingBox, period: Double?) -> [BoundingBox] {
    guard let period else { return [box] }
    // Rounding errors put an edge at exactly 180 degrees on either side.
    let tolerance = period * 1e-12
    if box.width >= period - tolerance {
      return [BoundingBox(west: world.west, south: box.south, east: world.east, north: box.north)]
    }
    var moved = box
    let turns = ((box.west - world.west + tolerance) / period).rounded(.down)
    moved.west -= turns * period
    moved.east -= turns * period
    guard moved.east > world.east + tolerance else { return [moved] }
    var left = moved
    var right = moved
    left.east = world.east
    right.west = world.west
    right.east -= period
    return [left, right]
  }
}

/// A mesh of the source's pixels in target CRS units: cells of three by three points that share their edges.
private struct Mesh {
  let columns: Int
  let rows: Int
  private let source: any RasterSource
  private let target: CoordinateReferenceSystem
  private let transform: CoordinateTransform
  /// Source pixels from one point to the next.
  private let step: SIMD2<Double>
  private let nodes: [SIMD2<Double>]

  init(source: any RasterSource, target: CoordinateReferenceSystem, steps: Int) throws {
    self.source = source
    self.target = target
    // Not fewer, because a cell of a raster of few pixels might reach around the Earth.
    columns = min(steps, max(source.width, 8))
    rows = min(steps, max(source.height, 8))
    step = SIMD2(Double(source.width) / Double(2 * columns), Double(source.height) / Double(2 * rows))
    transform = try CoordinateTransform(
      from: source.georeference.crs, to: target, areaOfInterest: source.areaOfInterest)
    var points: [SIMD2<Double>] = []
    points.reserveCapacity((2 * columns + 1) * (2 * rows + 1))
    for row in 0...(2 * rows) {
      for column in 0...(2 * columns) { points.append(SIMD2(Double(column), Double(row)) * step) }
    }
    nodes = Self.mapped(points, source, transform, target)
  }

  /// Transforms source pixel coordinates to the target CRS; NaN where they have no image.
  private static func mapped(
    _ positions: [SIMD2<Double>], _ source: any RasterSource, _ transform: CoordinateTransform,
    _ target: CoordinateReferenceSystem
  ) -> [SIMD2<Double>] {
    let georeference = source.georeference
    var points = positions.map { georeference.place(ofPixel: $0) }
    if georeference.crs.isGeographic {
      // The poles have no image in Mercator; what lies outside the matrix set is clipped later.
      let limit = (target.isGeographic ? 90 : 89.999) / 360 * (georeference.crs.horizontalPeriod ?? 360)
      for i in points.indices { points[i].y = min(max(points[i].y, -limit), limit) }
    }
    points.withUnsafeMutableBufferPointer { transform.transform($0) }
    return points
  }

  /// The source pixels of a cell, and one pixel around them.
  func pixels(_ column: Int, _ row: Int) -> PixelRect {
    let left = max(Int(2 * Double(column) * step.x) - 1, 0)
    let top = max(Int(2 * Double(row) * step.y) - 1, 0)
    let right = min(Int((2 * Double(column + 1) * step.x).rounded(.up)) + 1, source.width)
    let bottom = min(Int((2 * Double(row + 1) * step.y).rounded(.up)) + 1, source.height)
    return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
  }

  struct Cell {
    /// The bounding box of the cell's points.
    var box: BoundingBox
    /// The same box with a margin for curved edges.
    var reach: BoundingBox
    /// The edge of a pixel in target units; NaN if it is unknown.
    var resolution: Double
  }

  /// False if the source has no block under a cell, nor where a kernel reaches from it.
  func mayBeVisible(_ column: Int, _ row: Int) -> Bool {
    let reach = 16
    let low = SIMD2(Double(2 * column), Double(2 * row)) * step
    let high = SIMD2(Double(2 * column + 2), Double(2 * row + 2)) * step
    let around = PixelRect(
      x: Int(low.x) - reach, y: Int(low.y) - reach, width: Int(high.x - low.x) + 2 * reach + 2,
      height: Int(high.y - low.y) + 2 * reach + 2)
    let whole = PixelRect(x: 0, y: 0, width: source.width, height: source.height)
    return around.intersection(whole).map { source.mayBeVisible($0) } ?? true
  }

  func cell(_ column: Int, _ row: Int, period: Double?) -> Cell? {
    let stride = 2 * columns + 1
    let first = 2 * row * stride + 2 * column
    func node(_ x: Int, _ y: Int) -> SIMD2<Double> { nodes[first + y * stride + x] }
    var points: [SIMD2<Double>] = []
    points.reserveCapacity(9)
    for y in 0...2 {
      for x in 0...2 where node(x, y).x.isFinite && node(x, y).y.isFinite { points.append(node(x, y)) }
    }
    guard points.count == 9 else { return partialCell(column, row, period: period) }
    guard let box = Self.box(&points, period: period) else { return nil }
    // The distance of the middle from the mean of the corners measures the curvature of the cell's edges.
    let middle = points[4]
    let between = (points[0] + points[2] + points[6] + points[8]) / 4
    // Differences of the size of rounding errors do not count as curvature.
    let noise = max(abs(middle.x), abs(middle.y)) * 1e-13
    let bend = SIMD2(abs(middle.x - between.x), abs(middle.y - between.y))
    let slack = SIMD2(bend.x > noise ? 2 * bend.x : 0, bend.y > noise ? 2 * bend.y : 0)
    let across = (points[2] - points[0]) / (2 * step.x)
    let down = (points[6] - points[0]) / (2 * step.y)
    return Cell(
      box: box, reach: box.expanded(by: slack), resolution: abs(across.x * down.y - across.y * down.x).squareRoot())
  }

  /// A cell some of whose points have no image in the target; uses a finer mesh.
  private func partialCell(_ column: Int, _ row: Int, period: Double?) -> Cell? {
    let corner = SIMD2(Double(2 * column), Double(2 * row))
    var positions: [SIMD2<Double>] = []
    for y in 0...8 {
      for x in 0...8 { positions.append((corner + SIMD2(Double(x), Double(y)) / 4) * step) }
    }
    var points = Self.mapped(positions, source, transform, target).filter { $0.x.isFinite && $0.y.isFinite }
    guard let box = Self.box(&points, period: period) else { return nil }
    return Cell(box: box, reach: box.expanded(by: SIMD2(box.width, box.height)), resolution: .nan)
  }

  /// Boxes around the poles inside the source, from the pole to the nearest mesh points. Only for geographic targets,
  /// since Mercator has no poles.
  ///
  /// A pole is not a point of the mesh, so the cell around it does not reach it.
  func polarCaps(in world: BoundingBox) -> [BoundingBox] {
    guard target.isGeographic, !source.georeference.crs.isGeographic, let toPixel = source.georeference.affine.inverse
    else { return [] }
    return [world.north, world.south].compactMap { latitude in
      let place = transform.inverse(SIMD2(0, latitude))
      let pixel = source.georeference.controlPoints?.pixel(at: place) ?? toPixel(place)
      guard pixel.x >= 0, pixel.y >= 0, pixel.x <= Double(source.width), pixel.y <= Double(source.height) else {
        return nil
      }
      // The farthest corner of the cells that meet at the pole.
      let (column, row) = (Int(pixel.x / step.x), Int(pixel.y / step.y))
      let around = nodes.indices.filter {
        abs($0 % (2 * columns + 1) - column) <= 2 && abs($0 / (2 * columns + 1) - row) <= 2 && nodes[$0].y.isFinite
      }
      let away = around.map { abs(nodes[$0].y - latitude) }.max() ?? 0
      let edge = latitude > 0 ? latitude - away : latitude + away
      return BoundingBox(
        west: world.west, south: min(edge, latitude), east: world.east, north: max(edge, latitude))
    }
  }

  /// The bounding box of points, which are first moved to the same turn around the Earth; a full turn if they surround
  /// a pole.
  private static func box(_ points: inout [SIMD2<Double>], period: Double?) -> BoundingBox? {
    guard let first = points.first else { return nil }
    var low = first
    var high = first
    for i in points.indices {
      if let period { points[i].x += period * ((first.x - points[i].x) / period).rounded() }
      low = pointwiseMin(low, points[i])
      high = pointwiseMax(high, points[i])
    }
    if let period, high.x - low.x > period / 2 {
      high.x = low.x + period
    }
    return BoundingBox(west: low.x, south: low.y, east: high.x, north: high.y)
  }
}

extension BoundingBox {
  fileprivate func expanded(by margin: SIMD2<Double>) -> BoundingBox {
    BoundingBox(west: west - margin.x, south: south - margin.y, east: east + margin.x, north: north + margin.y)
  }
}
