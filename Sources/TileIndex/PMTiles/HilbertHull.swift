/// Grows a rectangle of tiles of one zoom around stretches of the Hilbert curve.
struct HilbertHull {
  let zoom: Int
  /// Nil until something was inserted.
  private(set) var range: TileRange?

  init(zoom: Int) { self.zoom = zoom }

  /// Takes the tiles with some ids, all of this zoom, into the rectangle.
  ///
  /// - Complexity: O(zoom²) at worst, however many ids there are.
  mutating func insert(_ ids: Range<UInt64>) {
    forEachSquare(ids) { square in
      range = range?.union(square) ?? square
      return true
    }
  }

  /// True when all tiles with these ids lie in the rectangle.
  func contains(_ ids: Range<UInt64>) -> Bool {
    var isInside = true
    forEachSquare(ids) { square in
      isInside = range?.intersection(square) == square
      return isInside
    }
    return isInside
  }

  /// Cuts a stretch of the curve into squares: 4^k tiles from a multiple of 4^k on fill a square of 2^k by 2^k.
  private func forEachSquare(_ ids: Range<UInt64>, _ body: (TileRange) -> Bool) {
    func size(_ level: Int) -> UInt64 { 1 << UInt64(2 * level) }
    let first = TileID.firstHilbertID(zoom: zoom)
    let end = ids.upperBound - first
    var start = ids.lowerBound - first
    while start < end {
      // The largest square that begins here and does not reach beyond the end.
      var level = 0
      while level < zoom, start & (size(level + 1) - 1) == 0, start + size(level + 1) <= end {
        level += 1
      }
      guard let tile = try? TileID(hilbertID: first + start) else { return }
      let (column, row) = ((tile.column >> level) << level, (tile.row >> level) << level)
      let side = 1 << level
      let square = TileRange(zoom: zoom, columns: column...(column + side - 1), rows: row...(row + side - 1))
      guard body(square) else { return }
      start += size(level)
    }
  }
}
