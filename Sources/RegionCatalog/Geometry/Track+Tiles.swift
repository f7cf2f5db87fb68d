import TileIndex

extension Track {
  /// The tiles of a zoom that the track passes. Between two points it goes straight in the grid's projection, across the antimeridian where that is nearer.
  ///
  /// - Complexity: O(points and tiles passed).
  func tiles(zoom: Int, in matrixSet: TileMatrixSet) -> Set<TileID> {
    let matrix = matrixSet[zoom]
    let width = Double(matrix.matrixWidth)
    var tiles: Set<TileID> = []
    func add(_ row: Int, _ columns: ClosedRange<Int>) {
      // The southern edge of the world belongs to the last row.
      let row = min(row, matrix.matrixHeight - 1)
      guard row >= 0 else { return }
      for column in columns.clamped(to: -matrix.matrixWidth...2 * matrix.matrixWidth) {
        let turned = matrixSet.isGlobal ? (column + matrix.matrixWidth) % matrix.matrixWidth : column
        tiles.insert(TileID(unchecked: zoom, turned, row))
      }
    }
    for line in lines {
      var last: SIMD2<Double>?
      for point in line where abs(point.y) <= 90 && point.x.isFinite {
        let place = matrixSet.tileCoordinates(longitude: point.x, latitude: point.y, zoom: zoom)
        var end = place
        if let last, matrixSet.isGlobal, abs(place.x - last.x) > width / 2 {
          end.x += place.x < last.x ? width : -width
        }
        LineTiles.forEachRow(from: last ?? place, to: end, add)
        last = place
      }
    }
    return tiles
  }
}
