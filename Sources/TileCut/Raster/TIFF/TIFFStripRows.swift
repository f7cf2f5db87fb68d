/// The rows of a TIFF in strips, strip by strip, for strips that can be held but not kept.
final class TIFFStripRows: RowSource {
  let path: String
  let width: Int
  let height: Int
  let form: PixelForm
  private let decoder: TIFFBlockDecoder
  private let block: UnsafeMutableRawPointer
  private var nextRow = 0
  private var isTransparent = false

  init(_ decoder: TIFFBlockDecoder, path: String) {
    (self.decoder, self.path) = (decoder, path)
    (width, height, form) = (decoder.grid.width, decoder.grid.height, decoder.grid.form)
    block = .allocate(byteCount: decoder.grid.blockBytes + PixelForm.slackBytes, alignment: 64)
  }

  deinit { block.deallocate() }

  func readRow(into row: UnsafeMutableRawPointer) throws {
    let y = nextRow % decoder.grid.blockHeight
    if y == 0 {
      switch try decoder.decode(column: 0, row: nextRow / decoder.grid.blockHeight, into: block) {
      case .pixels: isTransparent = false
      case .transparent: isTransparent = true
      }
    }
    nextRow += 1
    let rowBytes = width * form.bytesPerPixel
    if isTransparent {
      row.initializeMemory(as: UInt8.self, repeating: 0, count: rowBytes)
    } else {
      row.copyMemory(from: block + y * rowBytes, byteCount: rowBytes)
    }
  }
}
