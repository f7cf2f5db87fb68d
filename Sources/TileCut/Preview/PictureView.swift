/// What a picture of a map shows.
struct PictureView {
  /// Its middle, in CRS units.
  var centre: SIMD2<Double>
  /// CRS units a pixel.
  var cellSize: Double
  /// Pixels.
  var width: Int
  /// Pixels.
  var height: Int
}
