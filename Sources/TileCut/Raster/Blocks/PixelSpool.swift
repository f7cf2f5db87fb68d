/// A raster decoded once into a scratch file, tile by tile, for one that cannot be decoded in pieces and is too large for memory.
///
/// Tiles of a row of tiles follow each other in the file, so that a row of tiles is written at one go.
final class PixelSpool: BlockDecoder {
  let grid: BlockGrid
  private let file: ScratchFile

  private static let tileWidth = 256

  /// Decodes and writes everything.
  ///
  /// - Parameter bandBytesMax: about how many bytes of pixels may be held while writing.
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
