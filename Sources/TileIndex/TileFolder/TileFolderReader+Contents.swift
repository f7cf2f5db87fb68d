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

  private func reading<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as FileSystem.SystemError {
      throw BundleError.unread("a folder in it", error, path: path)
    }
  }
}
