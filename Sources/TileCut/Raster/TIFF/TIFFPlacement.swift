import CTIFFShim

/// The affine map in a GeoTIFF's tags (OGC 19-008r4, section 7.3).
struct TIFFPlacement {
  let affine: Affine?
  /// Why the tags cannot be used, when they are there.
  let hindrance: String?

  /// Reads ModelPixelScale and ModelTiepoint, or ModelTransformation.
  ///
  /// - Parameter isPoint: raster coordinates mean pixel centres, not corners (GTRasterTypeGeoKey is PixelIsPoint).
  init(_ handle: TIFFHandle, isPoint: Bool, warn: (String) -> Void) {
    let scale = handle.doubles(tag: 33550)
    let ties = handle.doubles(tag: 33922)
    let matrix = handle.doubles(tag: 34264)
    var affine: Affine?
    var hindrance: String?
    if scale.count >= 2, scale[0] != 0, scale[1] != 0, ties.count >= 6 {
      // A negative vertical scale should mean south-up, but those who write one mean north-up; GDAL reads it so too.
      if scale[1] < 0 { warn("its vertical pixel scale is negative; it is taken to be north-up all the same") }
      let (a, e) = (scale[0], -abs(scale[1]))
      affine = Affine(a: a, b: 0, c: ties[3] - ties[0] * a, d: 0, e: e, f: ties[4] - ties[1] * e)
    } else if matrix.count >= 16 {
      affine = Affine(a: matrix[0], b: matrix[1], c: matrix[3], d: matrix[4], e: matrix[5], f: matrix[7])
    } else if ties.count >= 12 {
      hindrance = "is placed only by \(ties.count / 6) ground control points, which are not supported"
    } else if scale.count >= 2 || ties.count >= 6 {
      hindrance = "its georeference is incomplete: it has only one of pixel scale and tie point"
    }
    if isPoint, let corner = affine {
      affine?.c = corner.c - corner.a / 2 - corner.b / 2
      affine?.f = corner.f - corner.d / 2 - corner.e / 2
    }
    self.affine = affine
    self.hindrance = hindrance
  }
}
