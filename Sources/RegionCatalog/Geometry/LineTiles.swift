/// The cells of a unit grid that straight lines pass, row by row.
enum LineTiles {
  /// Hands each row that a line from `a` to `b` passes, with the columns there, to a closure. Places are in cells: (1.5, 0.2) lies in column 1 of row 0.
  ///
  /// A line along an edge belongs to the cell below or to the right of it.
  /// - Complexity: O(rows passed).
  static func forEachRow(
    from a: SIMD2<Double>, to b: SIMD2<Double>, _ body: (_ row: Int, _ columns: ClosedRange<Int>) -> Void
  ) {
    let (top, bottom) = a.y <= b.y ? (a, b) : (b, a)
    let first = Int(top.y.rounded(.down))
    let last = Int(bottom.y.rounded(.down))
    for row in first...last {
      func x(_ y: Double) -> Double {
        top.y == bottom.y ? top.x : top.x + (bottom.x - top.x) * ((y - top.y) / (bottom.y - top.y))
      }
      let start = row == first ? top.x : x(Double(row))
      let end = row == last ? bottom.x : x(Double(row + 1))
      body(row, Int(min(start, end).rounded(.down))...Int(max(start, end).rounded(.down)))
    }
  }
}
