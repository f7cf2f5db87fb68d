import CPNGShim

/// Owns a libpng reader of the C shim and turns its failures into ``ImageError``.
final class PNGReaderHandle {
  let header: png_shim_header
  private let reader: OpaquePointer

  /// Opens a file and reads up to its pixels.
  convenience init(path: String) throws(ImageError) {
    var header = png_shim_header()
    try self.init(png_shim_open_file(path, &header), header)
  }

  /// The same for a file in memory, which must outlive the handle.
  convenience init(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
    var header = png_shim_header()
    try self.init(png_shim_open_memory(bytes.baseAddress, bytes.count, &header), header)
  }

  private init(_ reader: OpaquePointer?, _ header: png_shim_header) throws(ImageError) {
    guard let reader else { throw ImageError(.tooLarge, "no memory to decode a PNG") }
    self.reader = reader
    self.header = header
    if png_shim_error(reader) != nil { throw Self.failure(reader) }
  }

  deinit { png_shim_close(reader) }

  func start(_ mode: png_shim_mode) throws(ImageError) -> png_shim_layout {
    var layout = png_shim_layout()
    try check(png_shim_start(reader, mode, &layout))
    return layout
  }

  func readRow(into row: UnsafeMutableRawPointer) throws(ImageError) {
    try check(png_shim_read_row(reader, row))
  }

  func finish() throws(ImageError) {
    try check(png_shim_finish(reader))
  }

  func readImage(into pixels: UnsafeMutableRawPointer, rowBytes: Int) throws(ImageError) {
    try check(png_shim_read_image(reader, pixels, rowBytes))
  }

  /// libpng's warnings so far.
  var warnings: [String] {
    (0..<png_shim_warning_count(reader)).map { String(cString: png_shim_warning(reader, $0)) }
  }

  private func check(_ succeeded: Int32) throws(ImageError) {
    if succeeded == 0 { throw Self.failure(reader) }
  }

  private static func failure(_ reader: OpaquePointer) -> ImageError {
    ImageError(.malformed, "PNG: \(png_shim_error(reader).map { String(cString: $0) } ?? "unknown error")")
  }
}
