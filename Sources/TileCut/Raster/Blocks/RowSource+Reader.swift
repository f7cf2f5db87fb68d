extension RowSource {
  /// Decodes all rows once and keeps them for random access: in memory if the cache's budget has room for them, else in a scratch file.
  ///
  /// - Throws: ``CutError`` `.unwritableOutput` naming the scratch directory when there is no room there; whatever decoding throws.
  func readAll(cache: BlockCache, scratchDirectory: String) throws -> any WindowReader {
    let rowBytes = width * form.bytesPerPixel
    guard rowBytes <= RowLimits.rowBytesMax else {
      throw CutError(
        .badSource, path: path, "its rows of \(width) pixels are too long to decode",
        remedy: "convert it to a GeoTIFF in tiles, for instance with gdal_translate -co TILED=YES")
    }
    if let room = cache.reserve(rowBytes * height) {
      return try ResidentRaster(self, room: room)
    }
    let spool = try PixelSpool(self, bandBytesMax: cache.bytesMax / 8, scratchDirectory: scratchDirectory)
    return BlockRaster(grid: spool.grid, decoder: spool, cache: cache)
  }
}

enum RowLimits {
  /// No row may be longer: a handful of rows must be held whatever the budget.
  static let rowBytesMax = 64 << 20
}
