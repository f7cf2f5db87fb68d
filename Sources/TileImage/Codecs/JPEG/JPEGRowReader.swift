import CJPEGShim

/// Decodes a JPEG file row by row, for sources too large to be held in memory.
///
/// 1. `init` reads the header; nothing that depends on the image's size is allocated, so that the caller can judge it.
/// 2. ``start(memoryMax:)`` prepares for the rows; with several scans it reads the whole file and holds all coefficients.
/// 3. ``readRow(into:)`` gives all rows from the top.
///
/// Rows are opaque RGBA8; grey, YCbCr, RGB, CMYK and YCCK images are converted. EXIF orientation is ignored, as a map's georeference
/// counts stored pixels. Not safe to share.
package final class JPEGRowReader {
  package let width: Int
  package let height: Int
  /// Channels of the file: 1 grey, 3 colours, 4 CMYK or YCCK.
  package let channels: Int
  package let isProgressive: Bool
  /// The coefficients of the whole image are held in memory while it is decoded: progressive images, and others of several scans.
  package let holdsWholeImage: Bool
  /// The memory that decoding takes, in bytes; an estimate that for ``holdsWholeImage`` is dominated by the exact size of the coefficients.
  package let workingBytes: Int

  private let reader: JPEGReaderHandle
  private var rowsLeft = 0

  /// Opens a file and reads its header.
  ///
  /// - Throws: ``ImageError`` `malformed`, in libjpeg's or the system's words, without the path.
  package init(path: String) throws(ImageError) {
    reader = try JPEGReaderHandle(path: path)
    let header = reader.header
    width = Int(header.width)
    height = Int(header.height)
    channels = Int(header.channels)
    isProgressive = header.is_progressive != 0
    holdsWholeImage = header.has_multiple_scans != 0
    workingBytes = Int(header.working_bytes)
  }

  /// libjpeg's warnings so far that cost no pixels, for instance of extraneous bytes. Those that do are errors.
  package var warnings: [String] { reader.warnings }

  /// Prepares for the first row; to be called once.
  ///
  /// - Parameter memoryMax: bytes that libjpeg may hold; nil for no limit.
  /// - Throws: ``ImageError``: `tooLarge` when it would hold more, `malformed` in libjpeg's words.
  package func start(memoryMax: Int? = nil) throws(ImageError) {
    precondition(rowsLeft == 0, "a reader starts once")
    try reader.start(memoryMax: memoryMax ?? 0)
    rowsLeft = height
  }

  /// Reads the next row; after the last one the rest of the file is read and checked too.
  ///
  /// - Parameter row: `width * 4` bytes.
  /// - Throws: ``ImageError`` `malformed`, in libjpeg's words; the reader is of no use afterwards.
  package func readRow(into row: UnsafeMutableRawPointer) throws(ImageError) {
    precondition(rowsLeft > 0, "every row was read, or the reader was not started")
    try reader.readRow(into: row)
    rowsLeft -= 1
  }
}
