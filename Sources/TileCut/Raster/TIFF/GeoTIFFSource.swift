import CTIFFShim

/// A GeoTIFF, or a plain TIFF placed by a world file or by options.
///
/// 1. Read the layout of the first directory, of its mask and of its overviews (``TIFFImage``, ``TIFFDirectories``).
/// 2. Check the layout against the file before anything is allocated (``TIFFLayout``, ``TIFFBlockSurvey``).
/// 3. Interpret the samples (``TIFFColourModel``) and place the raster (``GeoKeys``, ``Placement``).
/// 4. Decode blocks on demand into a cache, or everything once where that is impossible (``TIFFReader``).
package final class GeoTIFFSource: RasterSource {
  package let path: String
  package let width: Int
  package let height: Int
  package let alphaKind: AlphaKind
  package let georeference: Georeference
  private let reader: any WindowReader
  private let image: TIFFImage
  private let cache: BlockCache
  private let scratchDirectory: String
  private let orientation: Orientation

  package var warnings: [String] { image.warnings.all }

  /// Opens a TIFF file.
  init(_ file: SourceFile, options: RasterOpenOptions) throws {
    let options = options.withAuxiliaryNodata
    let image = try TIFFImage(file, options: options)
    self.image = image
    path = image.path
    orientation = Orientation(
      code: image.layout.orientation, options: options, path: image.path
    ) { image.warnings.add($0) }
    (width, height) = orientation.size(width: image.layout.width, height: image.layout.height)
    alphaKind = image.alphaKind
    georeference = try Self.place(image, width: width, height: height, options: options)
    cache = options.cache ?? BlockCache(bytesMax: options.cacheBytesMax)
    scratchDirectory = options.scratchDirectory
    reader = orientation.turned(
      try Self.reader(
        image.part, mask: image.mask, model: image.model, cache: cache, scratchDirectory: scratchDirectory),
      width: width, height: height)
  }

  package func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    try reader.read(window, into: target, rowBytes: rowBytes)
  }

  /// A sample of the values of a file's colour bands; nil if they need no scale.
  static func valueSample(_ file: SourceFile, options: RasterOpenOptions) throws -> ValueSample? {
    let image = try TIFFImage(file, options: options.withAnyScale)
    return image.model.scale == nil ? nil : image.valueSample(options)
  }

  /// Whether a file's colour bands need a scale.
  static func needsScale(_ file: SourceFile, options: RasterOpenOptions) throws -> Bool {
    try TIFFImage(file, options: options.withAnyScale).model.scale != nil
  }

  package func overview(factorMax: Double) throws -> (any RasterSource)? {
    guard let (part, mask) = image.overview(factorMax: factorMax) else { return nil }
    let reader = try Self.reader(
      part, mask: mask, model: image.model, cache: cache, scratchDirectory: scratchDirectory)
    let (width, height) = orientation.size(width: part.layout.width, height: part.layout.height)
    let pixels = TIFFPixelDecoder(layout: part.layout, model: image.model)
    return RasterOverview(
      of: self, reader: orientation.turned(reader, width: width, height: height), width: width, height: height,
      alphaKind: TIFFImage.alphaKind(pixels, part: part, mask: mask))
  }

  package func mayBeVisible(_ window: PixelRect) -> Bool { reader.mayBeVisible(window) }

  private static func place(_ image: TIFFImage, width: Int, height: Int, options: RasterOpenOptions) throws
    -> Georeference
  {
    try image.file.withHandle { handle in
      let keys = try GeoKeys(handle)
      let tags = TIFFPlacement(handle, isPoint: keys?.short(.rasterType) == 2) { text in
        image.warnings.add("\(image.path): \(text)")
      }
      let placement = Placement(
        path: image.path, width: width, height: height, affine: tags.affine,
        controlPoints: tags.controlPoints, crs: { try keys?.crs(path: image.path) }, problem: tags.problem,
        warnings: image.warnings)
      let georeference = try placement.georeference(options)
      for remark in keys?.remarks ?? [] { image.warnings.add("\(image.path): \(remark)") }
      return georeference
    }
  }

  /// Reads the pixels of a directory and of its mask.
  static func reader(
    _ image: TIFFPart, mask: TIFFPart?, model: TIFFColourModel, cache: BlockCache, scratchDirectory: String
  ) throws -> any WindowReader {
    let pixels = try TIFFReader.reader(
      file: image.file, layout: image.layout, pixels: TIFFPixelDecoder(layout: image.layout, model: model),
      isSparse: image.isSparse, cache: cache, scratchDirectory: scratchDirectory)
    return try pixels.masked(by: mask, cache: cache, scratchDirectory: scratchDirectory)
  }
}

/// The affine transformation or the control points in a GeoTIFF's tags (OGC 19-008r4, section 7.3).
struct TIFFPlacement {
  let affine: Affine?
  let controlPoints: [GroundControlPoint]
  /// Why the tags are unusable, if they exist.
  let problem: String?

  /// Reads ModelPixelScale and ModelTiepoint, or ModelTransformation, or three tie points or more.
  ///
  /// - Parameter isPoint: raster coordinates refer to pixel centres, not corners (GTRasterTypeGeoKey is PixelIsPoint).
  init(_ handle: TIFFHandle, isPoint: Bool, warn: (String) -> Void) {
    let scale = handle.doubles(tag: 33550)
    let ties = handle.doubles(tag: 33922)
    let matrix = handle.doubles(tag: 34264)
    var affine: Affine?
    var controlPoints: [GroundControlPoint] = []
    var problem: String?
    if scale.count >= 2, scale[0] != 0, scale[1] != 0, ties.count >= 6 {
      // By the specification a negative vertical scale means south-up, but files that have one are north-up; GDAL does
      // the same.
      if scale[1] < 0 { warn("its vertical pixel scale is negative; it is taken to be north-up all the same") }
      let (a, e) = (scale[0], -abs(scale[1]))
      affine = Affine(a: a, b: 0, c: ties[3] - ties[0] * a, d: 0, e: e, f: ties[4] - ties[1] * e)
    } else if matrix.count >= 16 {
      affine = Affine(a: matrix[0], b: matrix[1], c: matrix[3], d: matrix[4], e: matrix[5], f: matrix[7])
    } else if ties.count >= 18 {
      // Raster coordinates of pixel centres count from the centre of the first pixel.
      let shift = isPoint ? 0.5 : 0
      controlPoints = stride(from: 0, to: ties.count - 5, by: 6).map { i in
        GroundControlPoint(pixel: SIMD2(ties[i] + shift, ties[i + 1] + shift), place: SIMD2(ties[i + 3], ties[i + 4]))
      }
    } else if ties.count >= 12 {
      problem = "has only two ground control points, and three are needed to place it"
    } else if scale.count >= 2 || ties.count >= 6 {
      problem = "its georeference is incomplete: it has only one of pixel scale and tie point"
    }
    if isPoint, let corner = affine {
      affine?.c = corner.c - corner.a / 2 - corner.b / 2
      affine?.f = corner.f - corner.d / 2 - corner.e / 2
    }
    self.affine = affine
    self.controlPoints = controlPoints
    self.problem = problem
  }
}
