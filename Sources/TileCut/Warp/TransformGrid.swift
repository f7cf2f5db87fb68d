/// The map from target pixels to source pixels over a rectangle: exact at grid nodes, bilinear between them.
///
/// The node spacing starts at 16 pixels and is halved until a grid of twice the spacing would be within ``tolerance`` of the exact value in the middle and on the
/// edges of every cell that touches the source. (The middle alone does not do: the real part of a conformal map is harmonic, its bends along x and y cancel there.)
/// At a spacing of 1 every pixel is exact. Distances are in source pixels.
package struct TransformGrid {
  /// Far below the 1/8 pixel at which an error could be seen, so that nearest neighbours agree with an exact transform too.
  package static let tolerance = 1.0 / 128

  package let rect: PixelRect
  package let spacing: Int
  private let columns: Int
  private let nodes: [SIMD2<Double>]

  /// - Parameter margin: source pixels round the source that count as touching it.
  /// - Returns: nil when no part of the rectangle falls on the source.
  package init?(_ rect: PixelRect, mapper: PixelMapper, sourceWidth: Int, sourceHeight: Int, margin: Double) {
    var spacing = 16
    while true {
      // Pairs of steps, so that every second node makes the grid of twice the spacing.
      let pairs = (
        x: (rect.width - 1 + 2 * spacing - 1) / (2 * spacing), y: (rect.height - 1 + 2 * spacing - 1) / (2 * spacing)
      )
      let columns = 2 * max(pairs.x, 1) + 1
      let rows = 2 * max(pairs.y, 1) + 1
      let nodes = Self.points(rect, columns, rows, spacing, mapper)
      var touches = false
      var worst = 0.0
      for row in stride(from: 0, to: rows - 1, by: 2) {
        for column in stride(from: 0, to: columns - 1, by: 2) {
          let cell = Cell(nodes, first: row * columns + column, columns: columns)
          guard cell.touches(width: Double(sourceWidth), height: Double(sourceHeight), margin: margin) else { continue }
          touches = true
          worst = max(worst, cell.error)
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

  /// Three by three nodes.
  private struct Cell {
    /// How far the inner and edge nodes lie from where bilinear interpolation between the corners puts them; infinite when some nodes have no source.
    private(set) var error = 0.0
    private var low = SIMD2<Double>(repeating: .infinity)
    private var high = SIMD2<Double>(repeating: -.infinity)

    init(_ nodes: [SIMD2<Double>], first: Int, columns: Int) {
      func node(_ x: Int, _ y: Int) -> SIMD2<Double> { nodes[first + y * columns + x] }
      for y in 0...2 {
        for x in 0...2 {
          let p = node(x, y)
          let (fx, fy) = (Double(x) / 2, Double(y) / 2)
          let top = node(0, 0) * (1 - fx) + node(2, 0) * fx
          let bottom = node(0, 2) * (1 - fx) + node(2, 2) * fx
          let away = p - (top * (1 - fy) + bottom * fy)
          if p.x.isFinite, p.y.isFinite {
            low = pointwiseMin(low, p)
            high = pointwiseMax(high, p)
          }
          error = away.x.isFinite && away.y.isFinite ? max(error, abs(away.x), abs(away.y)) : .infinity
        }
      }
    }

    func touches(width: Double, height: Double, margin: Double) -> Bool {
      guard low.x <= high.x else { return false }
      let slack = error.isFinite ? SIMD2(repeating: 2 * error) : (high - low) + 64
      let reach = slack + margin
      return low.x - reach.x < width && high.x + reach.x > 0 && low.y - reach.y < height && high.y + reach.y > 0
    }
  }

  private static func points(
    _ rect: PixelRect, _ columns: Int, _ rows: Int, _ spacing: Int, _ mapper: PixelMapper
  ) -> [SIMD2<Double>] {
    var points: [SIMD2<Double>] = []
    points.reserveCapacity(columns * rows)
    for row in 0..<rows {
      for column in 0..<columns {
        points.append(SIMD2(Double(rect.x + column * spacing) + 0.5, Double(rect.y + row * spacing) + 0.5))
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
