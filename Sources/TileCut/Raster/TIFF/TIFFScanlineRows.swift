import CTIFFShim

/// The rows of a TIFF in strips, row by row, for strips too large to be held.
///
/// libtiff goes through a strip from its start, so planes that are stored apart each take a handle of their own.
final class TIFFScanlineRows: RowSource {
  let path: String
  let width: Int
  let height: Int
  let form: PixelForm
  private let layout: TIFFLayout
  private let pixels: TIFFPixelDecoder
  private let handles: [TIFFHandle]
  private let stored: UnsafeMutableRawPointer
  private let storedRowBytes: Int
  private var nextRow = 0

  init(file: TIFFFile, layout: TIFFLayout, pixels: TIFFPixelDecoder) throws {
    path = file.path
    (width, height, form) = (layout.width, layout.height, pixels.form)
    (self.layout, self.pixels) = (layout, pixels)
    handles = try pixels.planes.map { _ in try file.newHandle() }
    storedRowBytes = (layout.storedRowBytes + PixelForm.slackBytes + 63) / 64 * 64
    stored = .allocate(
      byteCount: storedRowBytes * handles.count + pixels.workBytes(width: layout.width) + PixelForm.slackBytes,
      alignment: 64)
  }

  deinit { stored.deallocate() }

  func readRow(into row: UnsafeMutableRawPointer) throws {
    let planes = pixels.planes
    for (i, handle) in handles.enumerated() {
      guard
        ctiff_read_row(handle.pointer, UInt32(nextRow), UInt16(planes[i]), stored + i * storedRowBytes) != 0,
        ctiff_error(handle.pointer)[0] == 0
      else {
        throw CutError(
          .badSource, path: path, "row \(nextRow) cannot be decoded: \(handle.takeError())",
          remedy: "the file is damaged; copy or make it again")
      }
    }
    nextRow += 1
    if pixels.isStoredAsForm {
      row.copyMemory(from: stored, byteCount: width * form.bytesPerPixel)
    } else {
      _ = pixels.convert(
        planes.indices.map { UnsafeRawPointer(stored + $0 * storedRowBytes) }, count: width, into: row,
        work: stored + handles.count * storedRowBytes)
    }
  }
}
