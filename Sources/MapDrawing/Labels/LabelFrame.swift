package import TileIndex

/// Where labels may lie: what a map shows, so that none is cut.
package struct LabelFrame: Sendable {
  /// The box around all that is shown, in pixels of a zoom. Labels lie wholly in it, but for a map around the world,
  /// whose left and right edge are one place.
  package let box: @Sendable (_ zoom: Int) -> PixelBox
  /// Whether all of a box is shown.
  package let shows: @Sendable (_ zoom: Int, PixelBox) -> Bool
  /// The zooms that are shown; labels of coarser ones only decide which place those of finer ones have.
  package let zooms: ClosedRange<Int>

  /// - Parameter box: of a map across the antimeridian, it goes on beyond the world's eastern edge.
  package init(
    zooms: ClosedRange<Int> = 0...Int.max, box: @escaping @Sendable (_ zoom: Int) -> PixelBox,
    shows: @escaping @Sendable (_ zoom: Int, PixelBox) -> Bool
  ) {
    (self.zooms, self.box, self.shows) = (zooms, box, shows)
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
    self.init(box: box, shows: { _, _ in true })
  }
}
