import Support

/// Which tiles there are.
extension TileFolderReader {
  /// The zooms that have tiles, rising.
  ///
  /// - Complexity: O(1) for each zoom whose first columns are not empty.
  public func zooms() throws -> [Int] {
    try reading {
      try folder.zoomFolders().filter { try matrixSet.zooms.contains($0) && folder.hasTile(zoom: $0) }
    }
  }

  /// The rectangle around the tiles of a zoom; nil when it has none.
  ///
  /// - Complexity: O(tiles of the zoom); the names in every column's folder are read.
  public func range(zoom: Int) throws -> TileRange? {
    guard matrixSet.zooms.contains(zoom) else { return nil }
    let matrix = matrixSet[zoom]
    var columns: ClosedRange<Int>?
    var rows: ClosedRange<Int>?
    func hull(_ range: ClosedRange<Int>?, _ number: Int) -> ClosedRange<Int> {
      range.map { min($0.lowerBound, number)...max($0.upperBound, number) } ?? number...number
    }
    try reading {
      try folder.forEachColumn(zoom: zoom) { column in
        guard column < matrix.matrixWidth else { return true }
        try folder.forEachFile(zoom: zoom, column: column) { file in
          guard file.row < matrix.matrixHeight else { return true }
          columns = hull(columns, column)
          rows = hull(rows, fileRow(file.row, zoom: zoom))
          return true
        }
        return true
      }
    }
    guard let columns, let rows else { return nil }
    return TileRange(zoom: zoom, columns: columns, rows: rows)
  }

  /// Hands the tiles of a rectangle to a closure, by column, then by row from the south.
  ///
  /// - Complexity: O(tiles of the rectangle's columns); the numbers of one column are held at a time.
  public func forEachTile(
    in range: TileRange, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    guard matrixSet.zooms.contains(range.zoom) else { return }
    var columns: [Int] = []
    try reading {
      try folder.forEachColumn(zoom: range.zoom) { column in
        if range.columns.contains(column) { columns.append(column) }
        return true
      }
    }
    for column in columns.sorted() {
      var rows: Set<Int> = []
      try reading {
        try folder.forEachFile(zoom: range.zoom, column: column) { file in
          guard file.row < matrixSet[range.zoom].matrixHeight else { return true }
          let row = fileRow(file.row, zoom: range.zoom)
          if range.rows.contains(row) { rows.insert(row) }
          return true
        }
      }
      for row in rows.sorted(by: >) {
        let tile = TileID(unchecked: range.zoom, column, row)
        _ = try withTile(tile) { try body(tile, $0) }
      }
    }
  }

  private func reading<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as FileSystem.SystemError {
      throw BundleError.unread("a folder in it", error, path: path)
    }
  }
}
