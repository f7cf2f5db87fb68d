extension TileMatrixSet {
  /// The tile one zoom up that contains this one; nil at zoom 0.
  public func parent(of tile: TileID) -> TileID? {
    guard tile.zoom > 0 else { return nil }
    let ratio = ratios[tile.zoom - 1]
    return TileID(unchecked: tile.zoom - 1, tile.column / ratio, tile.row / ratio)
  }

  /// The tiles one zoom down that this one is cut into; nil at the deepest zoom. Fewer where the tile reaches beyond the matrix below.
  public func children(of tile: TileID) -> TileRange? {
    guard tile.zoom < zooms.upperBound else { return nil }
    return children(of: TileRange(zoom: tile.zoom, columns: tile.column...tile.column, rows: tile.row...tile.row))
  }

  /// The range one zoom up that contains a range; nil at zoom 0.
  public func parents(of range: TileRange) -> TileRange? {
    guard range.zoom > 0 else { return nil }
    let ratio = ratios[range.zoom - 1]
    return TileRange(
      zoom: range.zoom - 1, columns: (range.columns.lowerBound / ratio)...(range.columns.upperBound / ratio),
      rows: (range.rows.lowerBound / ratio)...(range.rows.upperBound / ratio))
  }

  /// The range one zoom down that a range is cut into, without what the matrix below does not have; nil at the deepest zoom.
  public func children(of range: TileRange) -> TileRange? {
    guard range.zoom < zooms.upperBound else { return nil }
    let ratio = ratios[range.zoom]
    let below = matrices[range.zoom + 1]
    let columns = (range.columns.lowerBound * ratio)...(range.columns.upperBound * ratio + ratio - 1)
    let rows = (range.rows.lowerBound * ratio)...(range.rows.upperBound * ratio + ratio - 1)
    let tiles = TileRange(
      zoom: range.zoom + 1, columns: 0...(below.matrixWidth - 1), rows: 0...(below.matrixHeight - 1))
    return tiles.intersection(TileRange(zoom: range.zoom + 1, columns: columns, rows: rows))
  }

  /// The up to eight tiles around a tile, from the north west, row by row.
  ///
  /// Where the set is global the first and last columns are neighbours. At the coarse zooms, where a tile would meet itself or another twice, each is named once.
  public func neighbours(of tile: TileID) -> [TileID] {
    let matrix = matrices[tile.zoom]
    var found: [TileID] = []
    for row in (tile.row - 1)...(tile.row + 1) where row >= 0 && row < matrix.matrixHeight {
      for column in (tile.column - 1)...(tile.column + 1) {
        var column = column
        if isGlobal { column = (column + matrix.matrixWidth) % matrix.matrixWidth }
        let other = TileID(unchecked: tile.zoom, column, row)
        if column >= 0, column < matrix.matrixWidth, other != tile, !found.contains(other) { found.append(other) }
      }
    }
    return found
  }
}
