package import TileIndex

/// The target's pixels at one zoom level, numbered from the matrix's top left corner: where they lie in the target CRS.
package struct PixelGrid: Sendable {
  /// The matrix's top left corner, in CRS units.
  package let origin: SIMD2<Double>
  /// Edge of a pixel, in CRS units.
  package let cellSize: Double
  /// Pixels across and down.
  package let width: Int
  package let height: Int
  /// True when the left and the right edge are the same meridian.
  package let wraps: Bool

  package init(_ matrix: TileMatrix, wraps: Bool) {
    origin = SIMD2(matrix.origin.x, matrix.origin.y)
    cellSize = matrix.cellSize
    width = matrix.matrixWidth * matrix.tileWidth
    height = matrix.matrixHeight * matrix.tileHeight
    self.wraps = wraps
  }

  /// CRS coordinates of a point given in pixels.
  package func crs(_ p: SIMD2<Double>) -> SIMD2<Double> {
    SIMD2(origin.x + p.x * cellSize, origin.y - p.y * cellSize)
  }

  /// Pixel coordinates of a point given in CRS units.
  package func pixel(_ p: SIMD2<Double>) -> SIMD2<Double> {
    SIMD2((p.x - origin.x) / cellSize, (origin.y - p.y) / cellSize)
  }
}
