import LibC

/// Which tiles exist, and their parents, children and neighbours.
extension TileMatrixSet {
  /// True when the tile exists in this set.
  public func contains(_ tile: TileID) -> Bool {
    guard zooms.contains(tile.zoom) else { return false }
    let matrix = matrices[tile.zoom]
    return tile.column >= 0 && tile.row >= 0 && tile.column < matrix.matrixWidth && tile.row < matrix.matrixHeight
  }

  /// All tiles of a zoom.
  package func wholeRange(zoom: Int) -> TileRange {
    let matrix = matrices[zoom]
    return TileRange(zoom: zoom, columns: 0...(matrix.matrixWidth - 1), rows: 0...(matrix.matrixHeight - 1))
  }

  /// The tile one zoom up that contains this one; nil at zoom 0.
  public func parent(of tile: TileID) -> TileID? {
    guard tile.zoom > 0 else { return nil }
    let ratio = ratios[tile.zoom - 1]
    return TileID(unchecked: tile.zoom - 1, tile.column / ratio, tile.row / ratio)
  }

  /// The tile of a coarser or the same zoom that contains a tile.
  ///
  /// - Complexity: O(difference of the zooms).
  package func ancestor(of tile: TileID, zoom: Int) -> TileID {
    var tile = tile
    while tile.zoom > zoom, let parent = parent(of: tile) { tile = parent }
    return tile
  }

  /// The tiles one zoom down that this one is split into; nil at the deepest zoom. Fewer where the tile extends beyond
  /// the matrix below.
  public func children(of tile: TileID) -> TileRange? {
    guard tile.zoom < zooms.upperBound else { return nil }
    return children(of: TileRange(zoom: tile.zoom, columns: tile.column...tile.column, rows: tile.row...tile.row))
  }

  /// The range one zoom up that contains a range; nil at zoom 0.
  package func parents(of range: TileRange) -> TileRange? {
    guard range.zoom > 0 else { return nil }
    let ratio = ratios[range.zoom - 1]
    return TileRange(
      zoom: range.zoom - 1, columns: (range.columns.lowerBound / ratio)...(range.columns.upperBound / ratio),
      rows: (range.rows.lowerBound / ratio)...(range.rows.upperBound / ratio))
  }

  /// The range one zoom down that a range is split into, clipped to the matrix below; nil at the deepest zoom.
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
  /// In a global set the first and last columns are neighbours. At coarse zooms, where that would name a tile itself or
  /// another tile twice, each is named once.
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

  /// The ground area of a tile in square metres, on a sphere of the earth's mean radius; in a fitted CRS nearly so.
  package func area(of tile: TileID) -> Double {
    if case .fitted(let crs) = projection {
      guard let part = bounds(of: tile).intersection(crs.box) else { return 0 }
      let (edge, thirds) = (SIMD2(part.width, part.height), [-1.0 / 3, 0, 1.0 / 3])
      let areas = thirds.flatMap { y in thirds.map { crs.groundArea(at: part.centre + edge * SIMD2($0, y)) } }
      return part.width * part.height * areas.reduce(0, +) / Double(areas.count)
    }
    let box = geographicBounds(of: tile)
    let radius = 6_371_008.8
    let height = sin(box.north * (.pi / 180)) - sin(box.south * (.pi / 180))
    return radius * radius * (box.width * (.pi / 180)) * height
  }
}

extension TileID {
  /// Makes a tile and checks that it lies inside its matrix.
  ///
  /// - Throws: ``GridError``, which names the number and its range.
  public init(zoom: Int, column: Int, row: Int, in matrixSet: TileMatrixSet = .webMercatorQuad) throws {
    guard matrixSet.zooms.contains(zoom) else {
      throw GridError(
        .zoomOutOfRange, "zoom \(zoom) is outside \(Self.text(matrixSet.zooms)) of \(matrixSet.identifier)")
    }
    let matrix = matrixSet[zoom]
    guard column >= 0, column < matrix.matrixWidth else {
      throw GridError(
        .columnOutOfRange,
        """
        column \(column) is outside \(Self.text(0...(matrix.matrixWidth - 1))) of \(matrixSet.identifier) \
        at zoom \(zoom)
        """
      )
    }
    guard row >= 0, row < matrix.matrixHeight else {
      throw GridError(
        .rowOutOfRange,
        "row \(row) is outside \(Self.text(0...(matrix.matrixHeight - 1))) of \(matrixSet.identifier) at zoom \(zoom)")
    }
    self.init(unchecked: zoom, column, row)
  }

  private static func text(_ range: ClosedRange<Int>) -> String { "\(range.lowerBound)-\(range.upperBound)" }

  /// The up to eight tiles around this one; see ``TileMatrixSet/neighbours(of:)``.
  public func neighbours(in matrixSet: TileMatrixSet = .webMercatorQuad) -> [TileID] {
    matrixSet.neighbours(of: self)
  }
}
