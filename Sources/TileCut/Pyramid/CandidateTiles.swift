package import TileIndex

/// A set of tiles of one zoom, stored as runs of columns for each row. Small for any map, because runs are long.
package struct CandidateTiles: Sendable {
  package let zoom: Int
  /// The row of the first entry of `runs`.
  private let firstRow: Int
  /// Ascending, disjoint, not adjacent; empty for rows without tiles.
  private let runs: [[Range<Int>]]
  /// The number of tiles.
  package let count: Int

  /// The union of ranges, all of the same zoom.
  package init(zoom: Int, _ ranges: [TileRange]) {
    guard let low = ranges.map(\.rows.lowerBound).min(), let high = ranges.map(\.rows.upperBound).max() else {
      self.init(zoom: zoom, firstRow: 0, runs: [])
      return
    }
    var rows = [[Range<Int>]](repeating: [], count: high - low + 1)
    // Neighbouring ranges mostly repeat the last columns; extending the last run keeps the lists short before they are
    // merged.
    for range in ranges {
      let columns = range.columns.lowerBound..<(range.columns.upperBound + 1)
      for row in range.rows {
        if let last = rows[row - low].last, last.lowerBound <= columns.upperBound, columns.lowerBound <= last.upperBound
        {
          rows[row - low][rows[row - low].count - 1] =
            min(last.lowerBound, columns.lowerBound)..<max(last.upperBound, columns.upperBound)
        } else {
          rows[row - low].append(columns)
        }
      }
    }
    self.init(zoom: zoom, firstRow: low, runs: rows.map(Self.merged))
  }

  /// The tiles that boxes in CRS units meet.
  ///
  /// - Parameter boxes: of each source. They are united source by source, as the boxes of one mostly lie in the same
  ///   rows of tiles.
  /// - Throws: ``CutError`` for so many rows as come from extremely stretched pixels, for instance at the limb of a
  ///   globe.
  init(zoom: Int, meeting boxes: [[BoundingBox]], in matrixSet: TileMatrixSet) throws {
    var rowCount = 0
    func count(_ ranges: [TileRange], besides others: Int) throws -> Int {
      let sum = ranges.reduce(others) { $0 + $1.rows.count }
      guard sum < Self.rowCountLimit else {
        throw CutError(
          .invalidOption, "the sources' pixels differ so much in size that zoom \(zoom) cannot be planned",
          remedy: "give a smaller --zoom, --bounds without the stretched edges, or cut fewer sources at a time")
      }
      return sum
    }
    var ranges: [TileRange] = []
    for source in boxes {
      let own = source.compactMap { matrixSet.range(coveringCRSBounds: $0, zoom: zoom) }
      _ = try count(own, besides: 0)
      let united = CandidateTiles(zoom: zoom, own).ranges
      rowCount = try count(united, besides: rowCount)
      ranges += united
    }
    self.init(zoom: zoom, ranges)
  }

  /// The limit for rows of tiles in all ranges; each takes 32 bytes while planning.
  private static let rowCountLimit = 4_000_000

  /// The same tiles in rectangles: rows that follow each other with the same columns are one.
  private var ranges: [TileRange] {
    var ranges: [TileRange] = []
    var top = rows.lowerBound
    for row in rows where row + 1 == rows.upperBound || runs(inRow: row + 1) != runs(inRow: row) {
      ranges += runs(inRow: row).map {
        TileRange(zoom: zoom, columns: $0.lowerBound...($0.upperBound - 1), rows: top...row)
      }
      top = row + 1
    }
    return ranges
  }

  private init(zoom: Int, firstRow: Int, runs: [[Range<Int>]]) {
    self.zoom = zoom
    self.firstRow = firstRow
    self.runs = runs
    count = runs.reduce(0) { $0 + $1.reduce(0) { $0 + $1.count } }
  }

  /// The same numbers in ascending, disjoint ranges that are not adjacent.
  static func merged(_ runs: [Range<Int>]) -> [Range<Int>] {
    guard runs.count > 1 else { return runs }
    var result: [Range<Int>] = []
    for run in runs.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = result.last, run.lowerBound <= last.upperBound {
        result[result.count - 1] = last.lowerBound..<max(last.upperBound, run.upperBound)
      } else {
        result.append(run)
      }
    }
    return result
  }

  /// The union of all tiles below ranges of this zoom or coarser ones.
  package init(zoom: Int, _ ranges: [TileRange], in matrixSet: TileMatrixSet) {
    self.init(zoom: zoom, Self.ranges(zoom: zoom, ranges, in: matrixSet))
  }

  /// What lies below ranges of a zoom or coarser ones, as ranges of that zoom.
  static func ranges(zoom: Int, _ ranges: [TileRange], in matrixSet: TileMatrixSet) -> [TileRange] {
    ranges.compactMap { range in
      var range: TileRange? = range
      while let coarse = range, coarse.zoom < zoom { range = matrixSet.children(of: coarse) }
      return range
    }
  }

  /// The tiles that both sets contain; both must be of the same zoom.
  package func intersection(_ other: CandidateTiles) -> CandidateTiles {
    CandidateTiles(
      zoom: zoom, firstRow: firstRow,
      runs: rows.map { row in
        let others = other.runs(inRow: row)
        return runs(inRow: row).flatMap { run in others.map { run.clamped(to: $0) }.filter { !$0.isEmpty } }
      })
  }

  /// The tiles that one of the sets contains; both must be of the same zoom.
  func union(_ other: CandidateTiles) -> CandidateTiles {
    guard !rows.isEmpty else { return other }
    guard !other.rows.isEmpty else { return self }
    let all = min(rows.lowerBound, other.rows.lowerBound)..<max(rows.upperBound, other.rows.upperBound)
    return CandidateTiles(
      zoom: zoom, firstRow: all.lowerBound,
      runs: all.map { Self.merged(runs(inRow: $0) + other.runs(inRow: $0)) })
  }

  /// The tiles that lie in one of the ranges, of the same zoom.
  ///
  /// - Complexity: O(rows of the set + ranges that begin or end there), however far the ranges reach.
  func within(_ ranges: [TileRange]) -> CandidateTiles {
    let sorted = ranges.sorted { $0.rows.lowerBound < $1.rows.lowerBound }
    var next = 0
    var active: [TileRange] = []
    var columns: [Range<Int>] = []
    // The first row after which a range ends.
    var end = Int.max
    return CandidateTiles(
      zoom: zoom, firstRow: firstRow,
      runs: rows.map { row in
        let own = runs(inRow: row)
        guard !own.isEmpty else { return [] }
        if row > end || next < sorted.count && sorted[next].rows.lowerBound <= row {
          while next < sorted.count, sorted[next].rows.lowerBound <= row {
            active.append(sorted[next])
            next += 1
          }
          active.removeAll { $0.rows.upperBound < row }
          columns = Self.merged(active.map { $0.columns.lowerBound..<($0.columns.upperBound + 1) })
          end = active.map(\.rows.upperBound).min() ?? Int.max
        }
        return own.flatMap { run in columns.map { run.clamped(to: $0) }.filter { !$0.isEmpty } }
      })
  }

  /// The tiles that the other set does not contain; both must be of the same zoom.
  func subtracting(_ other: CandidateTiles) -> CandidateTiles {
    CandidateTiles(
      zoom: zoom, firstRow: firstRow,
      runs: rows.map { row in
        var rest = runs(inRow: row)
        for hole in other.runs(inRow: row) {
          rest = rest.flatMap { run in
            [
              run.lowerBound..<min(run.upperBound, max(hole.lowerBound, run.lowerBound)),
              max(run.lowerBound, min(hole.upperBound, run.upperBound))..<run.upperBound,
            ].filter { !$0.isEmpty }
          }
        }
        return rest
      })
  }

  /// - Complexity: O(log r), where r is the number of runs in the tile's row.
  package func contains(_ tile: TileID) -> Bool {
    guard tile.zoom == zoom else { return false }
    let runs = runs(inRow: tile.row)
    var low = 0
    var high = runs.count
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].upperBound <= tile.column { low = middle + 1 } else { high = middle }
    }
    return low < runs.count && runs[low].contains(tile.column)
  }

  package var rows: Range<Int> { firstRow..<(firstRow + runs.count) }

  /// The north western and the south eastern tile of the rectangle around all; nil for none.
  var corners: (first: TileID, last: TileID)? {
    guard let low = runs.lazy.compactMap(\.first?.lowerBound).min(),
      let high = runs.lazy.compactMap(\.last?.upperBound).max()
    else { return nil }
    return (TileID(unchecked: zoom, low, firstRow), TileID(unchecked: zoom, high - 1, rows.upperBound - 1))
  }

  package func runs(inRow row: Int) -> [Range<Int>] {
    rows.contains(row) ? runs[row - firstRow] : []
  }

  /// The parts of a row's runs that lie in some columns.
  func runs(inRow row: Int, within columns: Range<Int>) -> [Range<Int>] {
    runs(inRow: row).map { $0.clamped(to: columns) }.filter { !$0.isEmpty }
  }

  /// The tiles of a range that are in the set, row by row.
  package func tiles(in range: TileRange) -> [TileID] {
    let columns = range.columns.lowerBound..<(range.columns.upperBound + 1)
    return range.rows.flatMap { row in
      runs(inRow: row, within: columns).joined().map { TileID(unchecked: zoom, $0, row) }
    }
  }

  /// The parents of all tiles.
  package func parents(in matrixSet: TileMatrixSet) -> CandidateTiles {
    let ratio = matrixSet.ratio(below: zoom - 1)
    guard !runs.isEmpty else { return CandidateTiles(zoom: zoom - 1, firstRow: 0, runs: []) }
    let first = firstRow / ratio
    let last = (firstRow + runs.count - 1) / ratio
    let parents = (first...last).map { parentRow in
      Self.merged(
        (parentRow * ratio..<(parentRow + 1) * ratio).flatMap { row in
          runs(inRow: row).map { $0.lowerBound / ratio..<(($0.upperBound - 1) / ratio + 1) }
        })
    }
    return CandidateTiles(zoom: zoom - 1, firstRow: first, runs: parents)
  }

  /// The children of all tiles.
  func children(in matrixSet: TileMatrixSet) -> CandidateTiles {
    let (ratio, below) = (matrixSet.ratio(below: zoom), matrixSet[zoom + 1])
    let all = (rows.lowerBound * ratio)..<(rows.upperBound * ratio)
    return CandidateTiles(
      zoom: zoom + 1, firstRow: all.lowerBound,
      runs: all.clamped(to: all.lowerBound..<max(below.matrixHeight, all.lowerBound)).map { row in
        runs(inRow: row / ratio).compactMap { run in
          let columns = (run.lowerBound * ratio)..<(run.upperBound * ratio)
          let inside = columns.clamped(to: 0..<below.matrixWidth)
          return inside.isEmpty ? nil : inside
        }
      })
  }
}
