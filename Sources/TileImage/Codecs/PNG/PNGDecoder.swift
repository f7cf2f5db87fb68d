import CPNGShim

/// Decodes whole PNG files in memory, through libpng.
enum PNGDecoder {
  /// Decodes any colour type, bit depth and interlacing to straight RGBA8. 16-bit samples are scaled down, rounded to
  /// the nearest; tRNS is applied; gamma and colour profiles are ignored.
  ///
  /// - Throws: ``ImageError``: `malformed` with libpng's message, `tooLarge` when there are more pixels than allowed.
  static func decode(_ bytes: UnsafeRawBufferPointer, pixelCountMax: Int) throws(ImageError) -> PixelBuffer {
    let reader = try PNGReaderHandle(bytes)
    let width = Int(reader.header.width)
    let height = Int(reader.header.height)
    try ImageError.check(width: width, height: height, pixelCountMax: pixelCountMax)
    _ = try reader.start(PNG_SHIM_RGBA8)
    let pixels = PixelBuffer(width: width, height: height)
    try reader.readImage(into: pixels.bytes, rowBytes: pixels.rowBytes)
    let hasAlpha = reader.header.colour_type & 4 != 0 || reader.header.has_transparency_chunk != 0
    if hasAlpha { pixels.clearTransparentPixels() }
    return pixels
  }

  /// The size in the header; the rest is not read.
  static func size(of bytes: UnsafeRawBufferPointer) throws(ImageError) -> (width: Int, height: Int) {
    let ihdr: [UInt8] = [0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
    guard bytes.count >= 24, bytes[8..<16].elementsEqual(ihdr) else {
      throw ImageError(.malformed, "PNG: the header is missing")
    }
    let width = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
    let height = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 20, as: UInt32.self))
    return (Int(width), Int(height))
  }
}

/// Owns a libpng reader of the C shim and maps its failures to ``ImageError``.
final class PNGReaderHandle {
  let header: png_shim_header
  private let reader: OpaquePointer

  /// Opens a file and reads the chunks before the pixels.
  convenience init(path: String) throws(ImageError) {
    var header = png_shim_header()
    try self.init(png_shim_open_file(path, &header), header)
  }

  /// Opens a file in memory, which must outlive the handle.
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
