import TileIndex

/// The order in which a pyramid is cut. It depends on the plan alone, so that a bundle is the same on any number of
/// threads.
///
/// The pyramid is divided into small subtrees, whose pixels one worker keeps in memory and reduces. Subtrees follow
/// each other row by row, since then each strip of a striped raster is decoded about once. Rows are limited in width,
/// because each level keeps a row of parents in memory until their last children are done.
struct SubtreeSequence: Sequence {
  /// The maximum number of working-zoom tiles along a subtree's edge: the root and up to two levels below it.
  static let subtreeEdgeMax = 4
  /// The width of a column of subtrees in working-zoom tiles of 256 pixels, for which waiting parents take 32 MB; of
  /// larger tiles fewer.
  static let columnEdge = 512

  /// The zoom of the subtrees' roots.
  let rootZoom: Int
  private let coverage: CandidateTiles
  private let columnWidth: Int

  /// - Parameter coverages: by zoom, from the plan.
  init(_ coverages: [Int: CandidateTiles], matrixSet: TileMatrixSet, workingZoom: Int, zoomMin: Int) {
    var root = workingZoom
    var edge = 1
    while root > zoomMin, edge * matrixSet.ratio(below: root - 1) <= Self.subtreeEdgeMax {
      root -= 1
      edge *= matrixSet.ratio(below: root)
    }
    rootZoom = root
    coverage = coverages[root]!
    let matrix = matrixSet[workingZoom]
    let column = Self.columnEdge * 256 * 256 / (matrix.tileWidth * matrix.tileHeight)
    columnWidth = Swift.max((matrix.tileWidth > 256 ? column : Self.columnEdge) / edge, 1)
  }

  func makeIterator() -> AnyIterator<TileID> { roots(inRows: coverage.rows, columns: 0..<Int.max) }

  /// The roots under a tile of their zoom or one above it, in the same order.
  ///
  /// - Complexity: O(rows and runs under the tile), besides the roots.
  func under(_ tile: TileID, in matrixSet: TileMatrixSet) -> AnyIterator<TileID> {
    var range = TileRange(zoom: tile.zoom, columns: tile.column...tile.column, rows: tile.row...tile.row)
    while range.zoom < rootZoom, let below = matrixSet.children(of: range) { range = below }
    let rows = (range.rows.lowerBound..<(range.rows.upperBound + 1)).clamped(to: coverage.rows)
    return roots(inRows: rows, columns: range.columns.lowerBound..<(range.columns.upperBound + 1))
  }

  private func roots(inRows rows: Range<Int>, columns: Range<Int>) -> AnyIterator<TileID> {
    let runs = rows.flatMap { coverage.runs(inRow: $0) }.map { $0.clamped(to: columns) }.filter { !$0.isEmpty }
    guard let low = runs.map(\.lowerBound).min(), let high = runs.map(\.upperBound).max() else {
      return AnyIterator { nil }
    }
    let bands = (low / columnWidth)...((high - 1) / columnWidth)
    var band = bands.lowerBound
    var row = rows.lowerBound
    var pending: [Range<Int>] = []
    return AnyIterator {
      while true {
        if let run = pending.first {
          let tile = TileID(unchecked: rootZoom, run.lowerBound, row - 1)
          if run.count > 1 { pending[0] = (run.lowerBound + 1)..<run.upperBound } else { pending.removeFirst() }
          return tile
        }
        if row == rows.upperBound {
          band += 1
          row = rows.lowerBound
        }
        guard band <= bands.upperBound else { return nil }
        let limits = ((band * columnWidth)..<((band + 1) * columnWidth)).clamped(to: columns)
        pending = coverage.runs(inRow: row).map { $0.clamped(to: limits) }.filter { !$0.isEmpty }
        row += 1
      }
    }
  }
}
