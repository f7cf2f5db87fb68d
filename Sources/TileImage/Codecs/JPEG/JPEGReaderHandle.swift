import CJPEGShim

/// Owns a libjpeg reader of the C shim and turns its failures into ``ImageError``.
final class JPEGReaderHandle {
  let header: jpeg_shim_header
  private let reader: OpaquePointer

  /// Opens a file and reads its header.
  convenience init(path: String) throws(ImageError) {
    var header = jpeg_shim_header()
    try self.init(jpeg_shim_open_file(path, &header), header)
  }

  /// The same for a file in memory, which must outlive the handle.
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
