/// A raster held in memory as a whole, in bytes set aside from a cache's budget.
final class ResidentRaster: WindowReader, @unchecked Sendable {
  // Unchecked: the pixels are written in `init` only.
  private let width: Int
  private let height: Int
  private let form: PixelForm
  private let pixels: UnsafeMutableRawPointer
  private let room: BlockCache.Reservation

  init(_ rows: any RowSource, room: BlockCache.Reservation) throws {
    (width, height, form) = (rows.width, rows.height, rows.form)
    self.room = room
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
