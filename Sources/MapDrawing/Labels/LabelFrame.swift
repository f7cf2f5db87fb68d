package import TileIndex

/// Where labels may lie: what a map shows, so that none is cut.
package struct LabelFrame: Sendable {
  /// The box around all that is shown, in pixels of a zoom.
  package let box: @Sendable (_ zoom: Int) -> PixelBox
  /// Whether all of a box is shown.
  package let shows: @Sendable (_ zoom: Int, PixelBox) -> Bool

  package init(
    box: @escaping @Sendable (_ zoom: Int) -> PixelBox, shows: @escaping @Sendable (_ zoom: Int, PixelBox) -> Bool
  ) {
    (self.box, self.shows) = (box, shows)
  }

  /// All of a grid.
  package init(_ matrixSet: TileMatrixSet) {
    let box: @Sendable (Int) -> PixelBox = { zoom in
      let matrix = matrixSet[zoom]
      return PixelBox(
        low: .zero,
        high: SIMD2(
          Double(matrix.matrixWidth * matrix.tileWidth), Double(matrix.matrixHeight * matrix.tileHeight)))
    }
    self.init(box: box, shows: { box($0).contains($1) })
  }
}
