public import TileIndex

/// Orders in which to load tiles that are missing on a screen.
public enum MissingOrder {
  /// The nearest to the range's middle first.
  public static func middleFirst(_ tiles: [TileID], in range: TileRange) -> [TileID] {
    // Doubled, so that middles are whole.
    let column = range.columns.lowerBound + range.columns.upperBound
    let row = range.rows.lowerBound + range.rows.upperBound
    func distance(_ tile: TileID) -> Int {
      let (across, down) = (2 * tile.column - column, 2 * tile.row - row)
      return across * across + down * down
    }
    return tiles.sorted { distance($0) < distance($1) }
  }
}
