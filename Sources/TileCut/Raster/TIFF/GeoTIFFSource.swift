/// A GeoTIFF, or a plain TIFF placed by a world file or by hand.
///
/// 1. Read the layout of the first directory and of its mask, if it has one; overviews are skipped.
/// 2. Check the claims against the file before anything is allocated.
/// 3. Work out what the samples mean, and place the raster.
/// 4. Decode blocks on demand into a cache, or everything once where that cannot be (see ``TIFFReader``).
package final class GeoTIFFSource: RasterSource {
  package let path: String
  package let width: Int
  package let height: Int
  package let alphaKind: AlphaKind
  package let georeference: Georeference
  private let reader: any WindowReader
  private let warningList: WarningList

  package var warnings: [String] { warningList.all }

  /// Opens a file whose first bytes say that it is a TIFF.
  init(_ file: OpenFile, options: RasterOpenOptions) throws {
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

  private static func place(_ image: TIFFImage, options: RasterOpenOptions) throws -> Georeference {
    try image.file.withHandle { handle in
      let keys = GeoKeys(handle)
      let tags = TIFFPlacement(handle, isPoint: keys?.short(.rasterType) == 2) { text in
        image.warnings.add("\(image.path): \(text)")
      }
      let placement = Placement(
        path: image.path, width: image.layout.width, height: image.layout.height, affine: tags.affine,
        crs: { try keys?.crs(path: image.path) }, hindrance: tags.hindrance)
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
