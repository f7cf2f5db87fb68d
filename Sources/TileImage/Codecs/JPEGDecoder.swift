import CJPEGShim

/// Decodes whole JPEG files in memory, through libjpeg-turbo.
enum JPEGDecoder {
  /// Decodes grey, YCbCr, RGB, CMYK and YCCK images to opaque RGBA8.
  ///
  /// - Throws: ``ImageError``: `malformed` with libjpeg's message, also for libjpeg's warnings that mean lost pixels;
  ///   `tooLarge` when there are more pixels than allowed.
  static func decode(_ bytes: UnsafeRawBufferPointer, pixelCountMax: Int) throws(ImageError) -> PixelBuffer {
    let reader = try JPEGReaderHandle(bytes)
    let width = Int(reader.header.width)
    let height = Int(reader.header.height)
    try ImageError.check(width: width, height: height, pixelCountMax: pixelCountMax)
    try reader.start(memoryMax: 0)
    let pixels = PixelBuffer(width: width, height: height)
    try reader.readImage(into: pixels.bytes, rowBytes: pixels.rowBytes)
    return pixels
  }

  /// The size in the header; the rest is not read.
  static func size(of bytes: UnsafeRawBufferPointer) throws(ImageError) -> (width: Int, height: Int) {
    let reader = try JPEGReaderHandle(bytes)
    return (Int(reader.header.width), Int(reader.header.height))
  }

  /// What decoding takes beside the pixels, by the header.
  static func workingBytes(of bytes: UnsafeRawBufferPointer) throws(ImageError) -> Int {
    Int(try JPEGReaderHandle(bytes).header.working_bytes)
  }
}

/// Decodes a JPEG file row by row, for sources too large for memory.
///
/// 1. `init` reads the header. It allocates nothing that depends on the image's size, so that the caller can check the
///    size first.
/// 2. ``start(memoryMax:)`` prepares for the rows. With several scans it reads the whole file and holds all
///    coefficients.
/// 3. ``readRow(into:)`` returns all rows from the top.
///
/// Rows are opaque RGBA8; grey, YCbCr, RGB, CMYK and YCCK images are converted. EXIF orientation is ignored, because a
/// map's georeference counts stored pixels. Not thread-safe.
package final class JPEGRowReader {
  package let width: Int
  package let height: Int
  /// Channels of the file: 1 grey, 3 colours, 4 CMYK or YCCK.
  package let channels: Int
  package let isProgressive: Bool
  /// True when decoding holds the coefficients of the whole image in memory: for progressive images, and others of
  /// several scans.
  package let holdsWholeImage: Bool
  /// The memory that decoding takes, in bytes: an estimate. For ``holdsWholeImage`` it is dominated by the exact size
  /// of the coefficients.
  package let workingBytes: Int

  private let reader: JPEGReaderHandle
  private var rowsLeft = 0

  /// Opens a file and reads its header.
  ///
  /// - Throws: ``ImageError`` `malformed`, with libjpeg's or the system's message, without the path.
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

  /// libjpeg's warnings so far that cost no pixels, such as extraneous bytes. Others are errors.
  package var warnings: [String] { reader.warnings }

  /// Prepares for the first row. Must be called once.
  ///
  /// - Parameter memoryMax: bytes that libjpeg may hold; nil for no limit.
  /// - Throws: ``ImageError``: `tooLarge` when libjpeg would hold more, `malformed` with libjpeg's message.
  package func start(memoryMax: Int? = nil) throws(ImageError) {
    precondition(rowsLeft == 0, "a reader starts once")
    try reader.start(memoryMax: memoryMax ?? 0)
    rowsLeft = height
  }

  /// Reads the next row. After the last one the rest of the file is read and checked too.
  ///
  /// - Parameter row: `width * 4` bytes.
  /// - Throws: ``ImageError`` `malformed`, with libjpeg's message. The reader cannot be used after that.
  package func readRow(into row: UnsafeMutableRawPointer) throws(ImageError) {
    precondition(rowsLeft > 0, "every row was read, or the reader was not started")
    try reader.readRow(into: row)
    rowsLeft -= 1
  }
}

/// Owns a libjpeg reader of the C shim and maps its failures to ``ImageError``.
final class JPEGReaderHandle {
  let header: jpeg_shim_header
  private let reader: OpaquePointer

  /// Opens a file and reads its header.
  convenience init(path: String) throws(ImageError) {
    var header = jpeg_shim_header()
    try self.init(jpeg_shim_open_file(path, &header), header)
  }

  /// Opens a file in memory, which must outlive the handle.
  convenience init(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
    var header = jpeg_shim_header()
    try self.init(jpeg_shim_open_memory(bytes.baseAddress, bytes.count, &header), header)
  }

  private init(_ reader: OpaquePointer?, _ header: jpeg_shim_header) throws(ImageError) {
    guard let reader else { throw ImageError(.tooLarge, "no memory to decode a JPEG") }
    self.reader = reader
    self.header = header
    if jpeg_shim_error(reader) != nil { throw Self.failure(reader) }
  }

  deinit { jpeg_shim_close(reader) }

  /// - Parameter memoryMax: bytes that libjpeg may hold; 0 for no limit.
  func start(memoryMax: Int) throws(ImageError) {
    try check(jpeg_shim_start(reader, memoryMax))
  }

  func readRow(into row: UnsafeMutableRawPointer) throws(ImageError) {
    try check(jpeg_shim_read_row(reader, row))
  }

  func readImage(into pixels: UnsafeMutableRawPointer, rowBytes: Int) throws(ImageError) {
    try check(jpeg_shim_read_image(reader, pixels, rowBytes))
  }

  /// libjpeg's harmless warnings so far.
  var warnings: [String] {
    (0..<jpeg_shim_warning_count(reader)).map { String(cString: jpeg_shim_warning(reader, $0)) }
  }

  private func check(_ succeeded: Int32) throws(ImageError) {
    if succeeded == 0 { throw Self.failure(reader) }
  }

  private static func failure(_ reader: OpaquePointer) -> ImageError {
    let words = jpeg_shim_error(reader).map { String(cString: $0) } ?? "unknown error"
    return ImageError(jpeg_shim_ran_out_of_memory(reader) != 0 ? .tooLarge : .malformed, "JPEG: \(words)")
  }
}
