/// A tile's place in a tile matrix set: zoom level, column and row, counted from the top left corner (XYZ).
///
/// TMS rows, which count from the bottom, exist only inside MBTiles files; see ``MBTilesRow``.
public struct TileID: Hashable, Sendable {
  /// Level in the tile matrix set; 0 is the coarsest.
  public let zoom: Int
  /// Column, from the western edge.
  public let column: Int
  /// Row, from the northern edge.
  public let row: Int

  /// The deepest zoom level that any tile matrix set here may have.
  public static let zoomMax = 30

  /// Makes a tile that is known to lie inside its matrix; hot loops use it, everything that comes from outside goes through the checked initialiser.
  package init(unchecked zoom: Int, _ column: Int, _ row: Int) {
    self.zoom = zoom
    self.column = column
    self.row = row
  }
}

extension TileID: Comparable {
  /// Orders by zoom, then row, then column.
  public static func < (a: TileID, b: TileID) -> Bool {
    (a.zoom, a.row, a.column) < (b.zoom, b.row, b.column)
  }
}

extension TileID: CustomStringConvertible {
  /// `zoom/column/row`, the order of XYZ URLs.
  public var description: String { "\(zoom)/\(column)/\(row)" }
}
