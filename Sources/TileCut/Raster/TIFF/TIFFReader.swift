/// Chooses how a TIFF directory is read at random.
enum TIFFReader {
  /// Rows that are asked for at about the same time: the warper goes over the raster in squares of 1024 pixels, row of squares by row.
  private static let bandRows = 1100

  /// - Tiles, and strips of which a band of rows fits the cache, are decoded on demand.
  /// - Other strips would be decoded again for every square of a row of squares; they are decoded once, from top to bottom, and kept
  ///   in memory or a scratch file.
  static func reader(
    file: TIFFFile, layout: TIFFLayout, pixels: TIFFPixelDecoder, isSparse: Bool, cache: BlockCache,
    scratchDirectory: String
  ) throws -> any WindowReader {
    let stripBytes = layout.blockWidth.multipliedReportingOverflow(
      by: layout.blockHeight * max(pixels.form.bytesPerPixel, layout.samples * layout.bits / 8))
    let isHuge = !layout.isTiled && (stripBytes.overflow || stripBytes.partialValue > max(cache.bytesMax / 4, 1 << 20))
    if isHuge && !pixels.isThroughRGBA && !isSparse {
      return try TIFFScanlineRows(file: file, layout: layout, pixels: pixels)
        .readAll(cache: cache, scratchDirectory: scratchDirectory)
    }
    let decoder = TIFFBlockDecoder(file: file, layout: layout, pixels: pixels, isSparse: isSparse)
    let fits = decoder.grid.bandBytes(rowCount: bandRows) <= cache.bytesMax / 4 * 3
    if layout.isTiled || fits || isSparse {
      return BlockRaster(grid: decoder.grid, decoder: decoder, cache: cache)
    }
    return try TIFFStripRows(decoder, path: file.path).readAll(cache: cache, scratchDirectory: scratchDirectory)
  }
}
