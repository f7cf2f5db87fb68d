import LibC

/// A raster that can only be decoded from top to bottom.
protocol RowSource: AnyObject {
  /// The raster's file, for messages.
  var path: String { get }
  var width: Int { get }
  var height: Int { get }
  var form: PixelForm { get }

  /// Decodes the next row: `width * form.bytesPerPixel` bytes; ``PixelForm/slackBytes`` after them may be overwritten.
  func readRow(into row: UnsafeMutableRawPointer) throws
}

extension RowSource {
  /// Decodes all rows once and keeps them for random access: in memory if the cache's budget allows it, else in a
  /// scratch file.
  ///
  /// - Throws: ``CutError`` `.unwritableOutput` naming the scratch directory if its disk is full, and whatever decoding
  ///   throws.
  func readAll(cache: BlockCache, scratchDirectory: String) throws -> any WindowReader {
    let rowBytes = width * form.bytesPerPixel
    guard rowBytes <= rowBytesMax else {
      throw CutError(
        .badSource, path: path, "its rows of \(width) pixels are too long to decode",
        remedy: "convert it to a GeoTIFF in tiles, for instance with gdal_translate -co TILED=YES")
    }
    if let reservation = cache.reserve(rowBytes * height) {
      return try ResidentRaster(self, reservation: reservation)
    }
    let spool = try PixelSpool(self, bandBytesMax: cache.bytesMax / 8, scratchDirectory: scratchDirectory)
    return BlockRaster(grid: spool.grid, decoder: spool, cache: cache)
  }
}

/// The longest row in bytes: some rows must fit into memory whatever the budget.
private let rowBytesMax = 64 << 20

/// A raster held entirely in memory, in bytes reserved from a cache's budget.
private final class ResidentRaster: WindowReader, @unchecked Sendable {
  // Unchecked: the pixels are written in `init` only.
  private let width: Int
  private let height: Int
  private let form: PixelForm
  private let pixels: UnsafeMutableRawPointer
  private let reservation: BlockCache.Reservation

  init(_ rows: any RowSource, reservation: BlockCache.Reservation) throws {
    (width, height, form) = (rows.width, rows.height, rows.form)
    self.reservation = reservation
    let rowBytes = rows.width * rows.form.bytesPerPixel
    pixels = .allocate(byteCount: rowBytes * rows.height + PixelForm.slackBytes, alignment: 64)
    for y in 0..<rows.height { try rows.readRow(into: pixels + y * rowBytes) }
  }

  deinit { pixels.deallocate() }

  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    precondition(
      window.x >= 0 && window.y >= 0 && window.x + window.width <= width && window.y + window.height <= height,
      "the window must lie inside the raster")
    var isOpaque = true
    for y in 0..<window.height {
      let offset = ((window.y + y) * width + window.x) * form.bytesPerPixel
      let rowIsOpaque = form.expand(pixels + offset, count: window.width, into: target + y * rowBytes)
      isOpaque = isOpaque && rowIsOpaque
    }
    return isOpaque
  }
}

/// A raster decoded once into a scratch file as tiles, because it cannot be decoded in pieces and does not fit into
/// memory.
///
/// A row of tiles is contiguous in the file and is written at once.
private final class PixelSpool: BlockDecoder {
  let grid: BlockGrid
  private let file: ScratchFile

  private static let tileWidth = 256

  /// Decodes and writes all rows.
  ///
  /// - Parameter bandBytesMax: the approximate number of bytes to hold while writing.
  init(_ rows: any RowSource, bandBytesMax: Int, scratchDirectory: String) throws {
    let rowBytes = rows.width * rows.form.bytesPerPixel
    var tileHeight = 256
    while tileHeight > 16 && tileHeight * rowBytes > bandBytesMax { tileHeight /= 2 }
    let grid = BlockGrid(
      width: rows.width, height: rows.height, blockWidth: min(Self.tileWidth, rows.width),
      blockHeight: min(tileHeight, rows.height), form: rows.form)
    self.grid = grid
    file = try ScratchFile(directory: scratchDirectory)

    let bandBytes = grid.columns * grid.blockBytes
    let band = UnsafeMutableRawPointer.allocate(byteCount: bandBytes, alignment: 64)
    let row = UnsafeMutableRawPointer.allocate(byteCount: rowBytes + PixelForm.slackBytes, alignment: 64)
    defer {
      band.deallocate()
      row.deallocate()
    }
    // The parts of tiles beyond the right edge are written, too.
    band.initializeMemory(as: UInt8.self, repeating: 0, count: bandBytes)
    let tileRowBytes = grid.blockWidth * grid.form.bytesPerPixel
    for tileRow in 0..<grid.rows {
      let top = tileRow * grid.blockHeight
      for y in top..<min(top + grid.blockHeight, grid.height) {
        try rows.readRow(into: row)
        for column in 0..<grid.columns {
          let part = row + column * tileRowBytes
          (band + column * grid.blockBytes + (y - top) * tileRowBytes).copyMemory(
            from: part, byteCount: min(tileRowBytes, rowBytes - column * tileRowBytes))
        }
      }
      try file.write(band, count: bandBytes, at: tileRow * bandBytes)
    }
  }

  func decode(column: Int, row: Int, into target: UnsafeMutableRawPointer) throws -> BlockContent {
    try file.read(into: target, count: grid.blockBytes, at: (row * grid.columns + column) * grid.blockBytes)
    return .pixels
  }
}
