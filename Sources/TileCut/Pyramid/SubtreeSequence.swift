import TileIndex

/// The order in which a pyramid is cut. It depends on the plan alone, so that a bundle is the same on any number of
/// threads.
///
/// The pyramid is divided into small subtrees, whose pixels one worker keeps in memory and reduces. Subtrees follow
/// each other row by row, since then each strip of a striped raster is decoded about once. Rows are limited in width,
/// because each level keeps a row of parents in memory until their last children are done.
///
/// Where areas end at different zooms, there is a stage for each zoom at which sources end. A stage goes through its
/// tiles in that order; at a tile that has deeper ones below it, the next stage goes through that tile first. So a row
/// is never longer than the tile of the stage above, and coarse sources are read as if they were alone.
struct SubtreeSequence: Sequence {
  /// The maximum number of working-zoom tiles along a subtree's edge: the root and up to two levels below it.
  static let subtreeEdgeMax = 4
  /// The width of a column of subtrees in working-zoom tiles of 256 pixels, for which waiting parents take 32 MB; of
  /// larger tiles fewer.
  static let columnEdge = 512

  /// The subtrees of sources that end at one zoom.
  private struct Stage {
    /// The zoom of the subtrees' roots.
    let rootZoom: Int
    let columnWidth: Int
    let roots: CandidateTiles
    /// Those roots below which there is more than this stage's zoom.
    let deep: CandidateTiles
    /// Tiles between the roots of the stage above and these that are drawn themselves, each a subtree of its own. With
    /// the number of roots along an edge of theirs.
    var single: [(tiles: CandidateTiles, edge: Int)] = []
  }

  private let stages: [Stage]
  private let matrixSet: TileMatrixSet

  /// The zoom of the coarsest subtrees' roots.
  var rootZoom: Int { stages[0].rootZoom }

  /// - Parameters:
  ///   - coverages: by zoom, from the plan.
  ///   - leaves: the tiles above the working zoom that are drawn themselves, from the plan.
  ///   - depths: the zooms at which sources end, ascending; nil for the working zoom alone.
  init(
    _ coverages: [Int: CandidateTiles], leaves: [Int: CandidateTiles] = [:], depths: [Int]? = nil,
    matrixSet: TileMatrixSet, workingZoom: Int, zoomMin: Int
  ) {
    self.matrixSet = matrixSet
    let depths = depths ?? [workingZoom]
    // All stages together have that many tiles side by side. Powers of two, so that few parents lie on an edge.
    let columnEdge = Self.columnEdge >> (Int.bitWidth - (depths.count - 1).leadingZeroBitCount)
    var stages: [Stage] = []
    for depth in depths {
      var root = depth
      var edge = 1
      while root > zoomMin, edge * matrixSet.ratio(below: root - 1) <= Self.subtreeEdgeMax {
        root -= 1
        edge *= matrixSet.ratio(below: root)
      }
      var deep = coverages[depth + 1] ?? CandidateTiles(zoom: root, [])
      while deep.zoom > root { deep = deep.parents(in: matrixSet) }
      let matrix = matrixSet[depth]
      let column = columnEdge * 256 * 256 / (matrix.tileWidth * matrix.tileHeight)
      var stage = Stage(
        rootZoom: root, columnWidth: Swift.max((matrix.tileWidth > 256 ? column : columnEdge) / edge, 1),
        roots: coverages[root]!, deep: deep)
      if let above = stages.last {
        var edge = 1
        for zoom in ((above.rootZoom + 1)..<Swift.max(root, above.rootZoom + 1)).reversed() {
          edge *= matrixSet.ratio(below: zoom)
          if let tiles = leaves[zoom], tiles.count > 0 { stage.single.append((tiles, edge)) }
        }
      }
      stages.append(stage)
    }
    self.stages = stages
  }

  /// The number of subtrees.
  ///
  /// - Complexity: O(1) if all areas end at one zoom, else O(subtrees).
  var count: Int { stages.count == 1 ? stages[0].roots.count : reduce(0) { sum, _ in sum + 1 } }

  func makeIterator() -> AnyIterator<TileID> { roots(inRows: 0..<Int.max, columns: 0..<Int.max) }

  /// The roots under a tile of the coarsest roots' zoom or one above it, in the same order.
  ///
  /// - Complexity: O(rows and runs under the tile), besides the roots.
  func under(_ tile: TileID, in matrixSet: TileMatrixSet) -> AnyIterator<TileID> {
    let (rows, columns) = below(tile, zoom: rootZoom)
    return roots(inRows: rows, columns: columns)
  }

  /// The tiles of a zoom below a tile, also where they lie beyond the matrix of that zoom.
  private func below(_ tile: TileID, zoom: Int) -> (rows: Range<Int>, columns: Range<Int>) {
    let edge = (tile.zoom..<Swift.max(zoom, tile.zoom)).reduce(1) { $0 * matrixSet.ratio(below: $1) }
    return ((tile.row * edge)..<((tile.row + 1) * edge), (tile.column * edge)..<((tile.column + 1) * edge))
  }

  private func roots(inRows rows: Range<Int>, columns: Range<Int>) -> AnyIterator<TileID> {
    var walks = [Walk(stages[0], rows: rows, columns: columns)]
    return AnyIterator {
      while let stage = walks.indices.last {
        guard let tile = walks[stage].next(stages[stage]) else {
          walks.removeLast()
          continue
        }
        guard stage + 1 < stages.count, stages[stage].deep.contains(tile) else { return tile }
        let (rows, columns) = below(tile, zoom: stages[stage + 1].rootZoom)
        walks.append(Walk(stages[stage + 1], rows: rows, columns: columns))
      }
      return nil
    }
  }

  /// A stage's way through a rectangle of its roots: in columns of limited width, each row by row.
  private struct Walk {
    /// The rows in which subtrees begin: beside a small area of much detail nearly all are empty.
    private var rows: [Int] = []
    /// The columns of limited width in which subtrees begin, of which the first is gone through, and the limits of all.
    private var bands: ArraySlice<Range<Int>>
    private let columns: Range<Int>
    private let width: Int
    /// The next of the rows.
    private var row = 0
    /// What is left of a row.
    private var pending: ArraySlice<TileRange> = []

    init(_ stage: Stage, rows limits: Range<Int>, columns: Range<Int>) {
      let width = stage.columnWidth
      var bands: [Range<Int>] = []
      for (tiles, edge) in [(stage.roots, 1)] + stage.single {
        func scaled(_ limit: Int) -> Int { limit / edge + (limit % edge == 0 ? 0 : 1) }
        for row in tiles.rows.clamped(to: scaled(limits.lowerBound)..<scaled(limits.upperBound)) {
          let runs = tiles.runs(inRow: row, within: scaled(columns.lowerBound)..<scaled(columns.upperBound))
          guard !runs.isEmpty else { continue }
          rows.append(row * edge)
          for run in runs {
            let own = (run.lowerBound * edge / width)..<((run.upperBound - 1) * edge / width + 1)
            // Most rows repeat the columns of the one before.
            if own != bands.last { bands.append(own) }
          }
        }
      }
      if !stage.single.isEmpty { rows = Set(rows).sorted() }
      (self.columns, self.width, self.bands) = (columns, width, CandidateTiles.merged(bands)[...])
    }

    mutating func next(_ stage: Stage) -> TileID? {
      while true {
        if let run = pending.first {
          let (column, last) = (run.columns.lowerBound, run.columns.upperBound)
          if column < last {
            pending[pending.startIndex] = TileRange(zoom: run.zoom, columns: (column + 1)...last, rows: run.rows)
          } else {
            pending.removeFirst()
          }
          return TileID(unchecked: run.zoom, column, run.rows.lowerBound)
        }
        if row == rows.count, !bands.isEmpty {
          let rest = bands[bands.startIndex].dropFirst()
          if rest.isEmpty { bands.removeFirst() } else { bands[bands.startIndex] = rest }
          row = 0
        }
        guard let band = bands.first?.lowerBound else { return nil }
        pending = runs(stage, row: rows[row], ((band * width)..<((band + 1) * width)).clamped(to: columns))[...]
        row += 1
      }
    }

    /// The subtrees that begin in a row, by their first column.
    private func runs(_ stage: Stage, row: Int, _ limits: Range<Int>) -> [TileRange] {
      var runs = Self.runs(stage.roots, row, limits)
      guard !stage.single.isEmpty else { return runs }
      var starts = runs.map(\.columns.lowerBound)
      for (tiles, edge) in stage.single where row % edge == 0 {
        let own = ((limits.lowerBound + edge - 1) / edge)..<((limits.upperBound + edge - 1) / edge)
        let found = Self.runs(tiles, row / edge, own)
        runs += found
        starts += found.map { $0.columns.lowerBound * edge }
      }
      return runs.indices.sorted { starts[$0] < starts[$1] }.map { runs[$0] }
    }

    private static func runs(_ tiles: CandidateTiles, _ row: Int, _ limits: Range<Int>) -> [TileRange] {
      tiles.runs(inRow: row, within: limits).map {
        TileRange(zoom: tiles.zoom, columns: $0.lowerBound...($0.upperBound - 1), rows: row...row)
      }
    }
  }
}
