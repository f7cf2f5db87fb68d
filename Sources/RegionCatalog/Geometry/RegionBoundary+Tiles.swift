package import TileIndex

extension RegionBoundary {
  /// The tiles of a zoom that the area touches, as ranges one row high.
  ///
  /// Edges are straight in the grid's projection, which for outlines that follow the ground makes no difference.
  /// - Complexity: O(rows that each edge passes), and as much memory.
  package func tiles(zoom: Int, in matrixSet: TileMatrixSet) -> [TileRange] {
    let whole = matrixSet.wholeRange(zoom: zoom)
    let matrix = matrixSet[zoom]
    var runs: [Int: [ClosedRange<Int>]] = [:]
    func add(_ row: Int, _ columns: ClosedRange<Int>) {
      // The eastern and southern edges of the world belong to the last tiles.
      let row = min(row, whole.rows.upperBound)
      let columns = min(columns.lowerBound, whole.columns.upperBound)...max(columns.upperBound, 0)
      guard whole.rows.contains(row), columns.overlaps(whole.columns) else { return }
      runs[row, default: []].append(columns.clamped(to: whole.columns))
    }
    for rings in polygons {
      // Where lines through the rows' middles enter and leave the polygon.
      var crossings: [Int: [Double]] = [:]
      for ring in rings {
        let places = ring.map { matrix.tileCoordinates(of: matrixSet.point(longitude: $0.x, latitude: $0.y)) }
        for (a, b) in zip(places, places.dropFirst()) {
          LineTiles.forEachRow(from: a, to: b, add)
          let (top, bottom) = a.y <= b.y ? (a, b) : (b, a)
          let first = Int((top.y - 0.5).rounded(.up))
          let end = Int((bottom.y - 0.5).rounded(.up))
          for row in first..<max(end, first) {
            let part = (Double(row) + 0.5 - top.y) / (bottom.y - top.y)
            crossings[row, default: []].append(top.x + (bottom.x - top.x) * part)
          }
        }
      }
      for (row, xs) in crossings {
        let sorted = xs.sorted()
        for pair in stride(from: 0, to: sorted.count - 1, by: 2) {
          let first = Int((sorted[pair] - 0.5).rounded(.up))
          let last = Int((sorted[pair + 1] - 0.5).rounded(.down))
          if first <= last { add(row, first...last) }
        }
      }
    }
    return runs.keys.sorted().flatMap { row in
      runs[row]!.map { TileRange(zoom: zoom, columns: $0, rows: row...row) }
    }
  }
}
