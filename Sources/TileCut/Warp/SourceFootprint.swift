package import TileIndex

/// What ground a source covers in a tile matrix set, and at which resolution: found by mapping a mesh of its pixels to the target.
package struct SourceFootprint: Sendable {
  /// Boxes in target CRS units that together cover the source, cut off at the matrix set's edges. They may overlap.
  package let boxes: [BoundingBox]
  /// The box round ``boxes``.
  package var reach: BoundingBox { boxes.dropFirst().reduce(boxes[0]) { $0.union($1) } }
  /// The box round the source's outline in target CRS units, cut off at the matrix set's edges; the whole width where the source crosses the antimeridian.
  package let outline: BoundingBox
  /// Edge of a source pixel in target CRS units: the median over the mesh of the square root of a pixel's area.
  package let resolution: Double

  private static let steps = 64

  /// - Throws: ``CutError`` when nothing of the source falls into the matrix set.
  package init(source: any RasterSource, target: CoordinateReferenceSystem, matrixSet: TileMatrixSet) throws {
    let mesh = try Mesh(source: source, target: target, steps: Self.steps)
    let world = matrixSet.boundingBox
    let period = matrixSet.isGlobal ? world.width : nil
    var boxes: [BoundingBox] = []
    var outline: BoundingBox?
    var crossesSeam = false
    var resolutions: [Double] = []
    for row in 0..<mesh.rows {
      for column in 0..<mesh.columns {
        guard let cell = mesh.cell(column, row, period: period) else { continue }
        let isInside =
          cell.box.south < world.north && cell.box.north > world.south
          && (period != nil || (cell.box.west < world.east && cell.box.east > world.west))
        guard isInside else { continue }
        if cell.resolution.isFinite, cell.resolution > 0 { resolutions.append(cell.resolution) }
        for (box, _) in Self.normalised(cell.reach, world: world, period: period) {
          guard let visible = box.intersection(world), visible.width > 0, visible.height > 0 else { continue }
          boxes.append(visible)
        }
        for (box, wrapped) in Self.normalised(cell.box, world: world, period: period) {
          guard let visible = box.intersection(world), visible.width > 0, visible.height > 0 else { continue }
          outline = outline.map { $0.union(visible) } ?? visible
          crossesSeam = crossesSeam || wrapped
        }
      }
    }
    guard let outline, !resolutions.isEmpty else {
      throw CutError(
        .noGeoreference, path: source.path, "it lies wholly outside \(matrixSet.identifier)",
        remedy: "check its CRS and bounds (gdalinfo shows them), or give --crs")
    }
    self.boxes = boxes
    self.outline =
      crossesSeam
      ? BoundingBox(west: world.west, south: outline.south, east: world.east, north: outline.north) : outline
    resolutions.sort()
    resolution = resolutions[resolutions.count / 2]
  }

  /// A box moved into the world, in two pieces where it crosses the seam.
  private static func normalised(
    _ box: BoundingBox, world: BoundingBox, period: Double?
  ) -> [(box: BoundingBox, crossesSeam: Bool)] {
    guard let period else { return [(box, false)] }
    // Rounding puts an edge at exactly 180 degrees a hair to either side.
    let hair = period * 1e-12
    if box.width >= period - hair {
      return [(BoundingBox(west: world.west, south: box.south, east: world.east, north: box.north), false)]
    }
    var moved = box
    let turns = ((box.west - world.west + hair) / period).rounded(.down)
    moved.west -= turns * period
    moved.east -= turns * period
    guard moved.east > world.east + hair else { return [(moved, false)] }
    var left = moved
    var right = moved
    left.east = world.east
    right.west = world.west
    right.east -= period
    return [(left, true), (right, true)]
  }
}

/// The source's pixels, every so many, in target CRS units.
private struct Mesh {
  let columns: Int
  let rows: Int
  private let source: any RasterSource
  private let transform: CoordinateTransform
  private let nodes: [SIMD2<Double>]

  init(source: any RasterSource, target: CoordinateReferenceSystem, steps: Int) throws {
    self.source = source
    columns = min(steps, source.width)
    rows = min(steps, source.height)
    transform = try CoordinateTransform(
      from: source.georeference.crs, to: target, areaOfInterest: PixelMapper.areaOfInterest(of: source))
    var positions: [SIMD2<Double>] = []
    for row in 0...rows {
      for column in 0...columns {
        positions.append(
          SIMD2(
            Double(source.width) * Double(column) / Double(columns), Double(source.height) * Double(row) / Double(rows))
        )
      }
    }
    nodes = Self.mapped(positions, source, transform)
  }

  private static func mapped(
    _ positions: [SIMD2<Double>], _ source: any RasterSource, _ transform: CoordinateTransform
  ) -> [SIMD2<Double>] {
    let georeference = source.georeference
    var points = positions.map { georeference.affine($0) }
    if georeference.crs.isGeographic {
      // The poles have no place in Mercator; what lies beyond the matrix set is cut off later.
      let limit = 89.999 / 360 * (georeference.crs.horizontalPeriod ?? 360)
      for i in points.indices { points[i].y = min(max(points[i].y, -limit), limit) }
    }
    points.withUnsafeMutableBufferPointer { transform.transform($0) }
    return points
  }

  struct Cell {
    /// The box round the cell's points.
    var box: BoundingBox
    /// The same with room for the curve of its edges.
    var reach: BoundingBox
    /// Edge of a pixel in target units.
    var resolution: Double
  }

  func cell(_ column: Int, _ row: Int, period: Double?) -> Cell? {
    let stride = columns + 1
    let corners = [
      nodes[row * stride + column], nodes[row * stride + column + 1], nodes[(row + 1) * stride + column],
      nodes[(row + 1) * stride + column + 1],
    ]
    let pixelWidth = Double(source.width) / Double(columns)
    let pixelHeight = Double(source.height) / Double(rows)
    func positions(_ count: Int) -> [SIMD2<Double>] {
      (0...count).flatMap { j in
        (0...count).map { i in
          SIMD2(
            (Double(column) + Double(i) / Double(count)) * pixelWidth,
            (Double(row) + Double(j) / Double(count)) * pixelHeight)
        }
      }
    }
    if corners.allSatisfy({ $0.x.isFinite && $0.y.isFinite }) {
      // Thirds of the cell show how far its edges bend away from straight lines.
      var points = Mesh.mapped(positions(2), source, transform).filter { $0.x.isFinite && $0.y.isFinite }
      guard let box = Mesh.box(&points, period: period), points.count == 9 else { return nil }
      let middle = points[4]
      let between = (points[0] + points[2] + points[6] + points[8]) / 4
      // What is a whole multiple of rounding noise is no bend.
      let noise = max(abs(middle.x), abs(middle.y)) * 1e-13
      let bend = SIMD2(abs(middle.x - between.x), abs(middle.y - between.y))
      let slack = SIMD2(bend.x > noise ? 2 * bend.x : 0, bend.y > noise ? 2 * bend.y : 0)
      let across = (points[2] - points[0]) / pixelWidth
      let down = (points[6] - points[0]) / pixelHeight
      return Cell(
        box: box, reach: box.expanded(by: slack), resolution: abs(across.x * down.y - across.y * down.x).squareRoot())
    }
    var points = Mesh.mapped(positions(8), source, transform).filter { $0.x.isFinite && $0.y.isFinite }
    guard let box = Mesh.box(&points, period: period) else { return nil }
    return Cell(box: box, reach: box.expanded(by: SIMD2(box.width, box.height)), resolution: .nan)
  }

  /// The box round points, which are first brought to the same turn round the Earth; the whole turn where they surround a pole.
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
