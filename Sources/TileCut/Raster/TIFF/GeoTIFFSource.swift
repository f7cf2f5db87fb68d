import CTIFFShim

/// A GeoTIFF, or a plain TIFF placed by a world file or by options.
///
/// 1. Read the layout of the first directory and of its mask, if there is one; overviews are skipped (``TIFFImage``).
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
  private let warningList: WarningList

  package var warnings: [String] { warningList.all }

  /// Opens a TIFF file.
  init(_ file: SourceFile, options: RasterOpenOptions) throws {
    let image = try TIFFImage(file, options: options)
    (path, width, height) = (image.path, image.layout.width, image.layout.height)
    alphaKind = image.alphaKind
    warningList = image.warnings
    georeference = try Self.place(image, options: options)
    let cache = options.cache ?? BlockCache(bytesMax: options.cacheBytesMax)
    reader = try Self.reader(image, cache: cache, scratchDirectory: options.scratchDirectory)
  }

  package func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    try reader.read(window, into: target, rowBytes: rowBytes)
  }

  package func mayBeVisible(_ window: PixelRect) -> Bool { reader.mayBeVisible(window) }

  private static func place(_ image: TIFFImage, options: RasterOpenOptions) throws -> Georeference {
    try image.file.withHandle { handle in
      let keys = GeoKeys(handle)
      let tags = TIFFPlacement(handle, isPoint: keys?.short(.rasterType) == 2) { text in
        image.warnings.add("\(image.path): \(text)")
      }
      let placement = Placement(
        path: image.path, width: image.layout.width, height: image.layout.height, affine: tags.affine,
        crs: { try keys?.crs(path: image.path) }, problem: tags.problem)
      return try placement.georeference(options)
    }
  }

  private static func reader(_ image: TIFFImage, cache: BlockCache, scratchDirectory: String) throws
    -> any WindowReader
  {
    let pixels = try TIFFReader.reader(
      file: image.file, layout: image.layout, pixels: image.pixels, isSparse: image.isSparse, cache: cache,
      scratchDirectory: scratchDirectory)
    guard let mask = image.mask else { return pixels }
    let maskReader = try TIFFReader.reader(
      file: mask.file, layout: mask.layout, pixels: TIFFPixelDecoder(maskOf: mask.layout), isSparse: mask.isSparse,
      cache: cache, scratchDirectory: scratchDirectory)
    return MaskedReader(pixels: pixels, mask: maskReader)
  }
}

/// The affine transformation in a GeoTIFF's tags (OGC 19-008r4, section 7.3).
private struct TIFFPlacement {
  let affine: Affine?
  /// Why the tags are unusable, if they exist.
  let problem: String?

  /// Reads ModelPixelScale and ModelTiepoint, or ModelTransformation.
  ///
  /// - Parameter isPoint: raster coordinates refer to pixel centres, not corners (GTRasterTypeGeoKey is PixelIsPoint).
  init(_ handle: TIFFHandle, isPoint: Bool, warn: (String) -> Void) {
    let scale = handle.doubles(tag: 33550)
    let ties = handle.doubles(tag: 33922)
    let matrix = handle.doubles(tag: 34264)
    var affine: Affine?
    var problem: String?
    if scale.count >= 2, scale[0] != 0, scale[1] != 0, ties.count >= 6 {
      // By the specification a negative vertical scale means south-up, but files that have one are north-up; GDAL does
      // the same.
      if scale[1] < 0 { warn("its vertical pixel scale is negative; it is taken to be north-up all the same") }
      let (a, e) = (scale[0], -abs(scale[1]))
      affine = Affine(a: a, b: 0, c: ties[3] - ties[0] * a, d: 0, e: e, f: ties[4] - ties[1] * e)
    } else if matrix.count >= 16 {
      affine = Affine(a: matrix[0], b: matrix[1], c: matrix[3], d: matrix[4], e: matrix[5], f: matrix[7])
    } else if ties.count >= 12 {
      problem = "is placed only by \(ties.count / 6) ground control points, which are not supported"
    } else if scale.count >= 2 || ties.count >= 6 {
      problem = "its georeference is incomplete: it has only one of pixel scale and tie point"
    }
    if isPoint, let corner = affine {
      affine?.c = corner.c - corner.a / 2 - corner.b / 2
      affine?.f = corner.f - corner.d / 2 - corner.e / 2
    }
    self.affine = affine
    self.problem = problem
  }
}

/// Pixels whose transparency another raster decides.
private struct MaskedReader: WindowReader {
  let pixels: any WindowReader
  /// Has the same size; the result is transparent where the mask is.
  let mask: any WindowReader

  func mayBeVisible(_ window: PixelRect) -> Bool { pixels.mayBeVisible(window) && mask.mayBeVisible(window) }

  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    let isOpaque = try pixels.read(window, into: target, rowBytes: rowBytes)
    return try withUnsafeTemporaryAllocation(byteCount: window.width * 4, alignment: 16) { line in
      let memory = line.baseAddress!
      var maskIsOpaque = true
      for y in 0..<window.height {
        let row = PixelRect(x: window.x, y: window.y + y, width: window.width, height: 1)
        if try mask.read(row, into: memory, rowBytes: window.width * 4) { continue }
        maskIsOpaque = false
        let flags = memory.assumingMemoryBound(to: UInt32.self)
        let words = (target + y * rowBytes).assumingMemoryBound(to: UInt32.self)
        for x in 0..<window.width { words[x] &= flags[x] }
      }
      return isOpaque && maskIsOpaque
    }
  }
}
