import CTIFFShim

/// Chooses how a TIFF directory is read with random access.
enum TIFFReader {
  /// Rows that are requested at about the same time: the cut proceeds in squares of 1024 pixels, one row of squares
  /// after the other.
  private static let bandRows = 1100

  /// - Tiles, and strips of which a band of rows fits into the cache, are decoded on demand.
  /// - Other strips would be decoded once for every square of a row of squares. They are decoded once from top to
  ///   bottom and kept in memory or in a scratch file.
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

/// Reads a TIFF in strips row by row, for strips that do not fit into memory.
///
/// libtiff decodes a strip from its start, so each separately stored plane needs its own handle.
private final class TIFFScanlineRows: RowSource {
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
          remedy: layout.decodingRemedy)
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

/// Reads a TIFF in strips strip by strip, for strips that fit into memory one at a time but not all together.
private final class TIFFStripRows: RowSource {
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
