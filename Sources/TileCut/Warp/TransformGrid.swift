/// Approximates the mapping from target pixels to source pixels over a rectangle: exact at nodes, bilinear between
/// them. Distances are in source pixels.
package struct TransformGrid {
  /// The largest permitted error of a grid of twice the spacing; this grid's error is a quarter of it where the mapping
  /// is smooth. An error becomes visible at 1/8 pixel; this is far less, so that nearest neighbours agree with an exact
  /// transformation, too.
  package static let tolerance = 1.0 / 128
  /// The spacing that is tried first, in target pixels.
  package static let spacingMax = 16

  package let rect: PixelRect
  /// Target pixels between nodes.
  package let spacing: Int
  private let columns: Int
  private let rows: Int
  private let nodes: [SIMD2<Double>]

  package init(_ rect: PixelRect, spacing: Int, mapper: PixelMapper) {
    self.rect = rect
    self.spacing = spacing
    // An even number of steps, so that every second node belongs to the grid of twice the spacing.
    columns = 2 * max((rect.width - 2 + 2 * spacing) / (2 * spacing), 1) + 1
    rows = 2 * max((rect.height - 2 + 2 * spacing) / (2 * spacing), 1) + 1
    var nodes: [SIMD2<Double>] = []
    nodes.reserveCapacity(columns * rows)
    for row in 0..<rows {
      for column in 0..<columns {
        nodes.append(SIMD2(Double(rect.x + column * spacing) + 0.5, Double(rect.y + row * spacing) + 0.5))
      }
    }
    nodes.withUnsafeMutableBufferPointer { mapper.toSource($0) }
    self.nodes = nodes
  }

  /// Whether the grid can be used.
  package enum Fit {
    /// No part of the rectangle lies in the source.
    case outside
    /// The interpolation error may exceed the tolerance.
    case coarse
    case fine
  }

  /// Estimates the error: how well a grid of twice the spacing predicts the nodes between its own, in the middle and on
  /// the edges of every cell that touches the source. The middle alone does not suffice: the coordinates of a conformal
  /// mapping are harmonic, so their curvatures along x and y cancel there. At a spacing of 1 every pixel is exact.
  package func fit(sourceWidth: Int, sourceHeight: Int) -> Fit {
    var fit = Fit.outside
    for row in stride(from: 0, to: rows - 1, by: 2) {
      for column in stride(from: 0, to: columns - 1, by: 2) {
        let cell = Cell(nodes, first: row * columns + column, columns: columns)
        guard cell.touches(width: Double(sourceWidth), height: Double(sourceHeight)) else { continue }
        if spacing > 1, cell.error > Self.tolerance { return .coarse }
        fit = .fine
      }
    }
    return fit
  }

  /// Three by three nodes.
  private struct Cell {
    /// The largest distance between a node and the bilinear interpolation of the corners; infinite if some nodes have
    /// no source.
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

    func touches(width: Double, height: Double) -> Bool {
      guard low.x <= high.x else { return false }
      let slack = error.isFinite ? SIMD2(repeating: 2 * error) : high - low
      // One pixel, and a margin for points that the curvature between nodes brings in.
      let reach = slack + 1
      return low.x - reach.x < width && high.x + reach.x > 0 && low.y - reach.y < height && high.y + reach.y > 0
    }
  }

  /// Source coordinates of the centres of a run of pixels in one row of the rectangle.
  package func positions(
    row y: Int, from x: Int, count: Int, into xs: UnsafeMutablePointer<Double>, _ ys: UnsafeMutablePointer<Double>
  ) {
    interpolate(nodes, row: y, from: x, count: count, into: xs, ys)
  }

  /// Interpolates values given at the nodes. `x` and `y` are target pixels.
  @inline(__always)
  private func interpolate(
    _ values: [SIMD2<Double>], row y: Int, from x: Int, count: Int, into xs: UnsafeMutablePointer<Double>,
    _ ys: UnsafeMutablePointer<Double>
  ) {
    let (left, end) = (x - rect.x, x - rect.x + count)
    let top = (y - rect.y) / spacing
    let fraction = Double(y - rect.y - top * spacing) / Double(spacing)
    values.withUnsafeBufferPointer { values in
      func value(_ column: Int) -> SIMD2<Double> {
        let a = values[top * columns + column]
        // On a node the value is exact, even if the neighbour is NaN.
        guard fraction != 0 else { return a }
        return a + (values[(top + 1) * columns + column] - a) * fraction
      }
      var i = left
      while i < end {
        let column = i / spacing
        let first = column * spacing
        let start = value(column)
        let stop = min(first + spacing, end)
        // A pixel on the last node needs no node after it.
        let step = stop > first + 1 ? (value(column + 1) - start) / Double(spacing) : .zero
        for k in i..<stop {
          let p = k == first ? start : start + step * Double(k - first)
          xs[k - left] = p.x
          ys[k - left] = p.y
        }
        i = stop
      }
    }
  }

  /// The number of source pixels that a target pixel spans along the source's x and y, at each node.
  ///
  /// - Parameter limit: the upper limit of scales, because no kernel needs to be wider than the source.
  package func scales(limit: SIMD2<Double>) -> Scales { Scales(grid: self, limit: limit) }

  package struct Scales {
    private let grid: TransformGrid
    private let nodes: [SIMD2<Double>]
    package let largest: SIMD2<Double>

    fileprivate init(grid: TransformGrid, limit: SIMD2<Double>) {
      self.grid = grid
      let (columns, rows) = (grid.columns, grid.rows)
      /// The step before a node. At the first node, the step after the next one, which shows whether the first step is
      /// a jump.
      func before(_ node: Int, _ position: Int, _ stride: Int) -> SIMD2<Double> {
        let from = position > 0 ? node - stride : node + stride
        return grid.nodes[from + stride] - grid.nodes[from]
      }
      func after(_ node: Int, _ position: Int, _ stride: Int, _ count: Int) -> SIMD2<Double> {
        let from = position + 1 < count ? node : node - 2 * stride
        return grid.nodes[from + stride] - grid.nodes[from]
      }
      var nodes: [SIMD2<Double>] = []
      nodes.reserveCapacity(columns * rows)
      for row in 0..<rows {
        for column in 0..<columns {
          let i = row * columns + column
          let across = Self.step(before(i, column, 1), after(i, column, 1, columns))
          let down = Self.step(before(i, row, columns), after(i, row, columns, rows))
          let scale = (across * across + down * down).squareRoot() / Double(grid.spacing)
          nodes.append(scale.x.isFinite && scale.y.isFinite ? pointwiseMin(scale, limit) : SIMD2(1, 1))
        }
      }
      self.nodes = nodes
      largest = nodes.reduce(.zero) { pointwiseMax($0, $1) }
    }

    /// The step at a node from the steps on both sides; ``MapStep`` for points.
    private static func step(_ before: SIMD2<Double>, _ after: SIMD2<Double>) -> SIMD2<Double> {
      let (b, a) = ((before * before).sum(), (after * after).sum())
      guard b.isFinite else { return after }
      guard a.isFinite else { return before }
      if b > 4 * a { return after }
      return a > 4 * b ? before : (before + after) / 2
    }

    /// The scales of a run of pixels in one row of the rectangle.
    package func row(
      _ y: Int, from x: Int, count: Int, into xs: UnsafeMutablePointer<Double>, _ ys: UnsafeMutablePointer<Double>
    ) {
      grid.interpolate(nodes, row: y, from: x, count: count, into: xs, ys)
    }
  }

  /// The bounding box of all finite nodes, in source pixels; nil if there is none.
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
