extension TileID {
  /// Makes a tile that lies inside its matrix.
  ///
  /// - Throws: ``GridError`` that names the number out of range and the range.
  public init(zoom: Int, column: Int, row: Int, in matrixSet: TileMatrixSet = .webMercatorQuad) throws {
    guard matrixSet.zooms.contains(zoom) else {
      throw GridError(
        .zoomOutOfRange, "zoom \(zoom) is outside \(Self.text(matrixSet.zooms)) of \(matrixSet.identifier)")
    }
    let matrix = matrixSet[zoom]
    guard column >= 0, column < matrix.matrixWidth else {
      throw GridError(
        .columnOutOfRange,
        "column \(column) is outside \(Self.text(0...(matrix.matrixWidth - 1))) of \(matrixSet.identifier) at zoom \(zoom)"
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
}
