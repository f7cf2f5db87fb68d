import TileIndex

extension FlatImage {
  /// Where the tiles have it.
  var georeference: Georeference {
    let matrix = TileMatrixSet.webMercatorQuad[zoom]
    return Georeference(
      affine: Affine(a: matrix.cellSize, b: 0, c: matrix.origin.x, d: 0, e: -matrix.cellSize, f: matrix.origin.y),
      crs: .webMercator)
  }
}
