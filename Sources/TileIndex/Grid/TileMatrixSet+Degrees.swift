extension TileMatrixSet {
  /// A set over plain degrees from the edges of its levels' tiles, such as 32°, 8°, 2°, 30′, 7.5′, 2.5′.
  ///
  /// Columns are counted from 180° west, rows from the north pole. Where an edge does not divide the world (360° are 11 tiles of 32° and a quarter)
  /// the last column and row reach beyond it; a parent there has fewer children than elsewhere.
  ///
  /// - Parameters:
  ///   - tileEdges: degrees, falling, each a whole multiple of the next.
  ///   - tileSizes: pixels along a tile's edge, one for each level, or one for all. A step of 3 keeps whole pixels whatever the size,
  ///     as 3 x 3 tiles together are a multiple of 3 wide; single children do not end on a parent's pixel unless their size is one too.
  /// - Throws: ``GridError`` with `.invalidMatrixSet` when the edges do not fit each other.
  public init(identifier: String, uri: String, tileEdges: [Double], tileSizes: [Int] = [256]) throws {
    guard tileSizes.count == 1 || tileSizes.count == tileEdges.count, tileSizes.allSatisfy({ $0 > 0 }) else {
      throw GridError(
        .invalidMatrixSet, "tile matrix set \(identifier): \(tileSizes) are not sizes for \(tileEdges.count) levels")
    }
    guard tileEdges.allSatisfy({ $0 > 1e-6 && $0 <= 360 }) else {
      throw GridError(
        .invalidMatrixSet, "tile matrix set \(identifier): \(tileEdges) are not edges between 0.000001 and 360 degrees")
    }
    let matrices = tileEdges.enumerated().map { zoom, edge in
      let size = tileSizes.count == 1 ? tileSizes[0] : tileSizes[zoom]
      return TileMatrix(
        identifier: String(zoom), cellSize: edge / Double(size), metresPerUnit: Self.metresPerDegree,
        origin: SIMD2(-180, 90), tileWidth: size, tileHeight: size, matrixWidth: Self.count(of: edge, in: 360),
        matrixHeight: Self.count(of: edge, in: 180))
    }
    try self.init(
      identifier: identifier, uri: uri, projection: .geographic, boundingBox: .world, matrices: matrices)
  }

  /// How many edges cover an extent; 2.5/60 is not exact in binary, so a hair over a whole number is that number.
  private static func count(of edge: Double, in extent: Double) -> Int {
    let quotient = extent / edge
    let whole = quotient.rounded()
    return Int(abs(quotient - whole) < 1e-9 * whole ? whole : quotient.rounded(.up))
  }
}
