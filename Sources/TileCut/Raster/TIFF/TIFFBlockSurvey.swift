import CTIFFShim

/// A look at where all blocks of a directory lie, before any is decoded.
struct TIFFBlockSurvey {
  /// Some block was never written, and shall be transparent.
  private(set) var isSparse = false

  /// Beyond this many blocks only every n-th is looked at, and the file may be sparse for all we know.
  private static let blockCountMax = 1 << 20

  /// - Throws: ``CutError`` `.badSource` when a block lies beyond the end of the file or an uncompressed one is too short: the file
  ///   was cut short, or its claims are not to be trusted.
  init(_ layout: TIFFLayout, handle: TIFFHandle, file: OpenFile) throws {
    let count = layout.columns * layout.rows * layout.planes
    let step = (count + Self.blockCountMax - 1) / Self.blockCountMax
    isSparse = step > 1
    var written = false
    for number in stride(from: 0, to: count, by: max(1, step)) {
      var offset: UInt64 = 0
      var bytes: UInt64 = 0
      guard ctiff_block_range(handle.pointer, UInt32(number), &offset, &bytes) != 0 else {
        throw Self.bad(file, "does not say where block \(number) lies: \(handle.takeError())")
      }
      if bytes == 0 || offset == 0 {
        isSparse = true
        continue
      }
      written = true
      let row = number % (layout.columns * layout.rows) / layout.columns
      let needed = Self.uncompressedBytes(layout, row: row)
      if let needed, bytes < needed {
        throw Self.bad(file, "has \(bytes) of the \(needed) bytes of block \(number)")
      }
      let (end, overflow) = offset.addingReportingOverflow(needed ?? bytes)
      guard !overflow, end <= UInt64(file.size) else {
        throw Self.bad(file, "is cut short: block \(number) of \(count) ends at byte \(end) of \(file.size)")
      }
    }
    guard written else { throw Self.bad(file, "holds no pixels: none of its \(count) blocks was written") }
  }

  private static func bad(_ file: OpenFile, _ message: String) -> CutError {
    CutError(.badSource, path: file.path, message, remedy: "copy or make the file again")
  }

  /// What a block takes if it is not compressed, or nil.
  private static func uncompressedBytes(_ layout: TIFFLayout, row: Int) -> UInt64? {
    // Subsampled YCbCr packs its samples otherwise.
    guard layout.compression == 1, layout.photometric != .ycbcr else { return nil }
    let rows = layout.isTiled ? layout.blockHeight : min(layout.blockHeight, layout.height - row * layout.blockHeight)
    return UInt64(rows) * UInt64(layout.storedRowBytes)
  }
}
