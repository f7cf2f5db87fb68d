/// The row numbers of MBTiles files, which count from the bottom as TMS does. This is the one place where rows are turned over.
public enum MBTilesRow {
  /// The stored row of a tile, or the tile's row of a stored one: the flip is its own inverse.
  ///
  /// In Web Mercator the matrix is 2^zoom high: tile 11/327/791 is stored in row 1256.
  public static func flipped(_ row: Int, matrixHeight: Int) -> Int { matrixHeight - 1 - row }
}
