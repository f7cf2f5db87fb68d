import TileIndex

/// Predicts which tiles a client will request next, from what its map shows and how it moves.
///
/// While it moves: the strips that come into view in its direction, the nearer ones first. At rest: the ring around the
/// screen, then the zoom above and, in the middle of the screen, the zoom below.
enum ClientPlan {
  /// Seconds of the current motion that are predicted.
  private static let aheadSeconds = 1.5
  private static let stripsMax = 4

  /// - Parameters:
  ///   - countMax: the maximum number of tiles, the most urgent first; none of them is on the screen.
  ///   - grid: tiles outside it are left out.
  static func tiles(
    _ view: ClientView, at seconds: Double, countMax: Int, grid: TileMatrixSet, zooms: ClosedRange<Int>
  ) -> [TileID] {
    var found: [TileID] = []
    var known: Set<TileID> = []
    func add(_ zoom: Int, _ columns: ClosedRange<Int>, _ rows: ClosedRange<Int>) {
      guard zooms.contains(zoom), grid.zooms.contains(zoom) else { return }
      let whole = grid.wholeRange(zoom: zoom)
      for row in rows where whole.rows.contains(row) {
        for column in columns where whole.columns.contains(column) {
          let tile = TileID(unchecked: zoom, column, row)
          guard !view.visible.contains(tile), found.count < countMax, known.insert(tile).inserted else { continue }
          found.append(tile)
        }
      }
    }
    let (zoom, columns, rows) = (view.visible.zoom, view.visible.columns, view.visible.rows)
    if view.isMoving(at: seconds) {
      let steps = (strips(view.motion.x), strips(view.motion.y))
      for step in 1...max(steps.0, steps.1, 1) {
        let (right, down) = (min(step, steps.0), min(step, steps.1))
        let (east, south) = (view.motion.x < 0 ? -right : right, view.motion.y < 0 ? -down : down)
        // The whole screen at its predicted position, without the tiles that are already visible.
        add(
          zoom, (columns.lowerBound + east)...(columns.upperBound + east),
          (rows.lowerBound + south)...(rows.upperBound + south))
      }
      return found
    }
    add(zoom, (columns.lowerBound - 1)...(columns.upperBound + 1), (rows.lowerBound - 1)...(rows.upperBound + 1))
    if zoom > 0, grid.zooms.contains(zoom - 1) {
      let ratio = grid.ratio(below: zoom - 1)
      add(
        zoom - 1, (columns.lowerBound / ratio)...(columns.upperBound / ratio),
        (rows.lowerBound / ratio)...(rows.upperBound / ratio))
    }
    if grid.zooms.contains(zoom + 1) {
      let ratio = grid.ratio(below: zoom)
      // The tiles of the next zoom in the middle of the screen.
      func inner(_ range: ClosedRange<Int>) -> ClosedRange<Int> {
        let middle = (range.lowerBound + range.upperBound + 1) * ratio / 2
        let half = (range.count + 1) / 2
        return (middle - half)...(middle + half - 1)
      }
      add(zoom + 1, inner(columns), inner(rows))
    }
    return found
  }

  /// How many strips come into view within the predicted time; 0 for a map that hardly moves.
  private static func strips(_ speed: Double) -> Int {
    let count = abs(speed) * aheadSeconds
    return count < 0.25 ? 0 : min(max(Int(count.rounded()), 1), stripsMax)
  }
}
