public import TileIndex

/// What a cache knows about a map on a screen: where it is or is going, and which tiles its user will probably want.
public struct MapFocus: Sendable {
  /// The tiles that the screen shows, or will show when a movement ends whose end is known.
  public var around: TileRange
  /// The tiles that are expected, each with its place in the order of urgency, 0 first.
  public var wanted: [TileID: Int]

  public init(around: TileRange, wanted: [TileID: Int] = [:]) {
    self.around = around
    self.wanted = wanted
  }

  /// How far a tile's middle lies from the middle of the range, across and down, in halves of the range's longer side: up to about 1 the tile is on the screen or belongs to what is.
  ///
  /// A tile of another zoom counts by the ground that it covers.
  public func distance(to tile: TileID) -> (across: Double, down: Double) {
    let scale = Self.scale(around.zoom - tile.zoom)
    let columnMiddle = Double(around.columns.lowerBound + around.columns.upperBound + 1) / 2
    let rowMiddle = Double(around.rows.lowerBound + around.rows.upperBound + 1) / 2
    let unit = 2 / Double(max(around.columns.count, around.rows.count))
    return (
      abs((Double(tile.column) + 0.5) * scale - columnMiddle) * unit,
      abs((Double(tile.row) + 0.5) * scale - rowMiddle) * unit
    )
  }

  /// 2 to the power of the difference of two zooms.
  private static func scale(_ zooms: Int) -> Double {
    zooms >= 0 ? Double(1 << min(zooms, 62)) : 1 / Double(1 << min(-zooms, 62))
  }
}
