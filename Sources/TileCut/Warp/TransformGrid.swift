/// The map from target pixels to source pixels over a rectangle: exact at grid nodes, bilinear between them.
///
/// The node spacing starts at 32 pixels and is halved until the middle of every cell that touches the source is within ``tolerance`` of the exact value;
/// at a spacing of 1 every pixel is exact. Distances are in source pixels.
package struct TransformGrid {
  /// Far below the 1/8 pixel at which an error could be seen, so that nearest neighbours agree with an exact transform too.
  package static let tolerance = 1.0 / 256

  package let rect: PixelRect
  package let spacing: Int
  private let columns: Int
  private let nodes: [SIMD2<Double>]

  /// - Returns: nil when no part of the rectangle falls on the source.
  package init?(_ rect: PixelRect, mapper: PixelMapper, sourceWidth: Int, sourceHeight: Int, margin: Double) {
    var spacing = 32
    while true {
      let columns = (rect.width - 1 + spacing - 1) / spacing + 1
      let rows = (rect.height - 1 + spacing - 1) / spacing + 1
      let nodes = Self.points(rect, columns, rows, spacing, offset: 0, mapper)
      // A grid of one cell has no neighbour to betray a raster that lies wholly inside a cell: its middle does.
      let cellColumns = max(columns - 1, 1)
      let cellRows = max(rows - 1, 1)
      let middles =
        spacing == 1
        ? [] : Self.points(rect, cellColumns, cellRows, spacing, offset: Double(spacing) / 2, mapper)
      var touches = false
      var worst = 0.0
      for row in 0..<cellRows {
        for column in 0..<cellColumns {
          let c1 = min(column + 1, columns - 1)
          let r1 = min(row + 1, rows - 1)
          let corners = [
            nodes[row * columns + column], nodes[row * columns + c1], nodes[r1 * columns + column],
            nodes[r1 * columns + c1],
          ]
          var error = 0.0
          var points = corners
          if spacing > 1, columns > 1, rows > 1 {
            let exact = middles[row * cellColumns + column]
            let between = (corners[0] + corners[1] + corners[2] + corners[3]) / 4
            error = max(abs(exact.x - between.x), abs(exact.y - between.y))
            points.append(exact)
          }
          let finite = points.filter { $0.x.isFinite && $0.y.isFinite }
          guard let first = finite.first else { continue }
          var low = first
          var high = first
          for p in finite.dropFirst() {
            low = pointwiseMin(low, p)
            high = pointwiseMax(high, p)
          }
          let slack = finite.count < points.count ? (high - low) + 64 : SIMD2(repeating: 2 * error)
          let reach = slack + margin
          guard low.x - reach.x < Double(sourceWidth), high.x + reach.x > 0, low.y - reach.y < Double(sourceHeight),
            high.y + reach.y > 0
          else { continue }
          touches = true
          worst = max(worst, finite.count < points.count ? .infinity : error)
        }
      }
      guard touches else { return nil }
      if worst <= Self.tolerance || spacing == 1 {
        (self.rect, self.spacing, self.columns, self.nodes) = (rect, spacing, columns, nodes)
        return
      }
      spacing /= 2
    }
  }

  private static func points(
    _ rect: PixelRect, _ columns: Int, _ rows: Int, _ spacing: Int, offset: Double, _ mapper: PixelMapper
  ) -> [SIMD2<Double>] {
    var points: [SIMD2<Double>] = []
    points.reserveCapacity(columns * rows)
    for row in 0..<rows {
      for column in 0..<columns {
        points.append(
          SIMD2(
            Double(rect.x + column * spacing) + 0.5 + offset, Double(rect.y + row * spacing) + 0.5 + offset))
      }
    }
    points.withUnsafeMutableBufferPointer { mapper.toSource($0) }
    return points
  }

  /// Source coordinates of the pixel centres of one row of the rectangle (0 is its top row).
  package func row(_ y: Int, x sourceX: UnsafeMutablePointer<Double>, y sourceY: UnsafeMutablePointer<Double>) {
    let top = y / spacing
    let fraction = Double(y - top * spacing) / Double(spacing)
    let bottom = fraction == 0 ? top : top + 1
    func node(_ column: Int) -> SIMD2<Double> {
      let a = nodes[top * columns + column]
      guard fraction != 0 else { return a }
      return a + (nodes[bottom * columns + column] - a) * fraction
    }
    var left = node(0)
    var x = 0
    var column = 0
    while x < rect.width {
      let right = column + 1 < columns ? node(column + 1) : left
      let step = (right - left) / Double(spacing)
      let end = min(x + spacing, rect.width)
      // The node itself is given exactly, also where its neighbour is NaN.
      sourceX[x] = left.x
      sourceY[x] = left.y
      var i = x + 1
      while i < end {
        let p = left + step * Double(i - x)
        sourceX[i] = p.x
        sourceY[i] = p.y
        i += 1
      }
      x = end
      column += 1
      left = right
    }
  }

  /// How many source pixels one target pixel spans, along the source's x and y: the mean length of the columns' and rows' steps.
  package var scale: SIMD2<Double> {
    var sum = SIMD2<Double>.zero
    var count = 0.0
    let rows = nodes.count / columns
    guard columns > 1, rows > 1 else { return SIMD2(1, 1) }
    for row in 0..<(rows - 1) {
      for column in 0..<(columns - 1) {
        let p = nodes[row * columns + column]
        let across = (nodes[row * columns + column + 1] - p) / Double(spacing)
        let down = (nodes[(row + 1) * columns + column] - p) / Double(spacing)
        let extent = (across * across + down * down).squareRoot()
        guard extent.x.isFinite, extent.y.isFinite else { continue }
        sum += extent
        count += 1
      }
    }
    return count > 0 ? sum / count : SIMD2(1, 1)
  }

  /// The smallest box that holds all finite nodes, in source pixels; nil when there is none.
  package var sourceBox: (low: SIMD2<Double>, high: SIMD2<Double>)? {
    var low = SIMD2<Double>(repeating: .infinity)
    var high = SIMD2<Double>(repeating: -.infinity)
    for p in nodes where p.x.isFinite && p.y.isFinite {
      low = pointwiseMin(low, p)
      high = pointwiseMax(high, p)
    }
    return low.x <= high.x ? (low, high) : nil
  }
}

extension SIMD2 where Scalar == Double {
  fileprivate func squareRoot() -> SIMD2 { SIMD2(x.squareRoot(), y.squareRoot()) }
}
