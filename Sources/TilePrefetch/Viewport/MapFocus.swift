public import TileIndex

/// What a cache knows about a map on a screen: where it is, and which tiles its user will probably want.
public struct MapFocus: Sendable {
  /// The tiles on the screen.
  public var visible: TileRange
  /// The tiles that are expected, each with its place in the order of urgency, 0 first.
  public var wanted: [TileID: Int]

  public init(visible: TileRange, wanted: [TileID: Int] = [:]) {
    self.visible = visible
    self.wanted = wanted
  }

  /// How far a tile's middle is from the middle of the screen, in halves of the screen's longer side (in tiles): up to about 1 the tile is on the screen or belongs to what is.
  ///
  /// A tile of another zoom counts by the ground that it covers.
  public func distance(to tile: TileID) -> Double {
    let scale = Self.scale(visible.zoom - tile.zoom)
    let columnMiddle = Double(visible.columns.lowerBound + visible.columns.upperBound + 1) / 2
    let rowMiddle = Double(visible.rows.lowerBound + visible.rows.upperBound + 1) / 2
    let across = abs((Double(tile.column) + 0.5) * scale - columnMiddle)
    let down = abs((Double(tile.row) + 0.5) * scale - rowMiddle)
    return max(across, down) * 2 / Double(max(visible.columns.count, visible.rows.count))
  }

  /// 2 to the power of the difference of two zooms.
  private static func scale(_ zooms: Int) -> Double {
    zooms >= 0 ? Double(1 << min(zooms, 62)) : 1 / Double(1 << min(-zooms, 62))
  }
}
