/// Conveniences for sets that step by 2; other sets answer through ``TileMatrixSet/parent(of:)`` and ``TileMatrixSet/children(of:)``.
extension TileID {
  /// The tile one zoom up that contains this one, in a set that steps by 2; nil at zoom 0.
  public var parent: TileID? {
    zoom == 0 ? nil : TileID(unchecked: zoom - 1, column >> 1, row >> 1)
  }

  /// The four tiles one zoom down, in a set that steps by 2: north west, north east, south west, south east. Empty at ``zoomMax``.
  public var children: [TileID] {
    guard zoom < Self.zoomMax else { return [] }
    let (column, row) = (column << 1, row << 1)
    return [
      TileID(unchecked: zoom + 1, column, row), TileID(unchecked: zoom + 1, column + 1, row),
      TileID(unchecked: zoom + 1, column, row + 1), TileID(unchecked: zoom + 1, column + 1, row + 1),
    ]
  }

  /// The up to eight tiles around this one; see ``TileMatrixSet/neighbours(of:)``.
  public func neighbours(in matrixSet: TileMatrixSet = .webMercatorQuad) -> [TileID] {
    matrixSet.neighbours(of: self)
  }
}
