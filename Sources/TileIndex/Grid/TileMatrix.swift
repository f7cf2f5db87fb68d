/// One level of a tile matrix set: a grid of equal tiles (OGC 17-083r4 "Two Dimensional Tile Matrix Set", section 6.1).
public struct TileMatrix: Hashable, Sendable {
  /// The level's name; in the well-known sets the zoom number.
  public let identifier: String
  /// Map scale at 0.28 mm a pixel.
  package let scaleDenominator: Double
  /// Edge of a pixel in CRS units.
  public let cellSize: Double
  /// Top left corner of tile (0, 0) in CRS units; x first, whatever the axis order of the CRS.
  public let origin: SIMD2<Double>
  /// Width of a tile in pixels.
  public let tileWidth: Int
  /// Height of a tile in pixels.
  public let tileHeight: Int
  /// Number of columns.
  public let matrixWidth: Int
  /// Number of rows.
  public let matrixHeight: Int

  /// A level of a grid by its numbers, which are not checked.
  ///
  /// - Parameters:
  ///   - cellSize: edge of a pixel in CRS units, above 0.
  ///   - metresPerUnit: length of a CRS unit, for the scale denominator only.
  ///   - origin: top left corner of tile (0, 0) in CRS units.
  package init(
    identifier: String, cellSize: Double, metresPerUnit: Double, origin: SIMD2<Double>, tileWidth: Int = 256,
    tileHeight: Int = 256, matrixWidth: Int, matrixHeight: Int
  ) {
    self.identifier = identifier
    self.cellSize = cellSize
    self.scaleDenominator = cellSize * metresPerUnit / 0.00028
    self.origin = origin
    self.tileWidth = tileWidth
    self.tileHeight = tileHeight
    self.matrixWidth = matrixWidth
    self.matrixHeight = matrixHeight
  }

  /// Width of a tile in CRS units.
  public var tileSpanX: Double { cellSize * Double(tileWidth) }
  /// Height of a tile in CRS units.
  public var tileSpanY: Double { cellSize * Double(tileHeight) }

  /// The box of a tile in CRS units. Neighbours share their edges exactly.
  public func bounds(column: Int, row: Int) -> BoundingBox {
    BoundingBox(
      west: origin.x + Double(column) * tileSpanX, south: origin.y - Double(row + 1) * tileSpanY,
      east: origin.x + Double(column + 1) * tileSpanX, north: origin.y - Double(row) * tileSpanY)
  }

  /// A point's coordinates in tiles from the top left corner: (1.5, 0) is the middle of the upper edge of column 1.
  public func tileCoordinates(of point: SIMD2<Double>) -> SIMD2<Double> {
    SIMD2((point.x - origin.x) / tileSpanX, (origin.y - point.y) / tileSpanY)
  }

  /// A point's coordinates in pixels from the top left corner of the matrix; (0.5, 0.5) is the centre of the first
  /// pixel.
  public func pixelCoordinates(of point: SIMD2<Double>) -> SIMD2<Double> {
    SIMD2((point.x - origin.x) / cellSize, (origin.y - point.y) / cellSize)
  }

  /// The CRS coordinates of a pixel position; the inverse of ``pixelCoordinates(of:)``.
  public func point(atPixel pixel: SIMD2<Double>) -> SIMD2<Double> {
    SIMD2(origin.x + pixel.x * cellSize, origin.y - pixel.y * cellSize)
  }

  /// Tile coordinates that differ by less than this many tiles are the same edge: a millionth of a pixel, more where
  /// doubles are coarser.
  package var edgeTolerance: Double {
    max(1e-6 / Double(max(tileWidth, tileHeight)), 1e-14 * Double(max(matrixWidth, matrixHeight)))
  }
}
