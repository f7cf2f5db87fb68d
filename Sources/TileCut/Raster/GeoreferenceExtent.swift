package import TileIndex

extension Georeference {
  /// The box round a raster of the given size, in CRS units; of a rotated raster, the box round its corners.
  package func bounds(width: Int, height: Int) -> BoundingBox {
    let (w, h) = (Double(width), Double(height))
    let corners = [affine(SIMD2(0, 0)), affine(SIMD2(w, 0)), affine(SIMD2(0, h)), affine(SIMD2(w, h))]
    return BoundingBox(
      west: corners.map(\.x).min()!, south: corners.map(\.y).min()!, east: corners.map(\.x).max()!,
      north: corners.map(\.y).max()!)
  }

  /// The box round the raster in WGS 84 degrees, west greater than east if it spans the antimeridian; nil where PROJ finds none.
  ///
  /// Good as the area of interest of a ``CoordinateTransform``, which is how gdalwarp chooses datum shifts.
  package func geographicBounds(width: Int, height: Int) -> BoundingBox? {
    let box = bounds(width: width, height: height)
    return (try? CoordinateTransform(from: crs, to: .wgs84LongLat))?.transformBounds(box)
  }
}
