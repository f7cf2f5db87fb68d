import CPNGShim

/// Decodes a PNG file row by row, for sources too large for memory.
///
/// 1. `init` reads the header. It allocates nothing that depends on the image's size, so that the caller can check the
///    size first.
/// 2. ``start(_:)`` chooses the form of the rows.
/// 3. ``readRow(into:)`` returns all rows from the top; for an interlaced image ``passCount`` times.
///
/// Rows have straight alpha; in transparent pixels all samples are 0. Gamma and colour profiles are ignored. Not
/// thread-safe.
package final class PNGRowReader {
  /// The form of the rows.
  package enum Output: Sendable {
    /// Red, green, blue, alpha, 8 bits each. 16-bit samples are scaled down, rounded to the nearest.
    case rgba8
    /// The file's own channels with 16 bits each, in native byte order: grey (1), grey and alpha (2), RGB (3) or RGBA
    /// (4). A palette becomes RGB or RGBA, tRNS an alpha channel; samples of fewer bits are scaled up to the full
    /// range.
    case native16
    /// The indices of a palette, a byte each.
    case index8
  }

  package let width: Int
  package let height: Int
  /// Bits per sample of the file: 1, 2, 4, 8 or 16.
  package let bitDepth: Int
  /// True when the file has an alpha channel or a tRNS chunk.
  package let hasAlpha: Bool
  /// True when the file is grey, with or without alpha.
  package let isGrey: Bool
  package let isPalette: Bool
  package let isInterlaced: Bool

  /// Samples per pixel of the rows; valid after ``start(_:)``.
  package private(set) var outputChannels = 4
  /// Bytes per row; valid after ``start(_:)``.
  package private(set) var rowBytes = 0
  /// How often all rows must be read: 1, or 7 for an interlaced file; valid after ``start(_:)``.
  package private(set) var passCount = 1

  private let reader: PNGReaderHandle
  private var output = Output.rgba8
  private var rowsLeft = 0

  /// Opens a file and reads its header.
  ///
  /// - Throws: ``ImageError`` `malformed`, with libpng's or the system's message, without the path.
  package init(path: String) throws(ImageError) {
    reader = try PNGReaderHandle(path: path)
    let header = reader.header
    width = Int(header.width)
    height = Int(header.height)
    bitDepth = Int(header.bit_depth)
    hasAlpha = header.colour_type & 4 != 0 || header.has_transparency_chunk != 0
    isPalette = header.colour_type == 3
    isGrey = header.colour_type & 2 == 0
    isInterlaced = header.is_interlaced != 0
  }

  /// The number of channels of ``Output/native16``.
  package var nativeChannels: Int { (isGrey ? 1 : 3) + (hasAlpha ? 1 : 0) }

  /// The memory that decoding takes, in bytes: an upper bound for libpng's few rows and its inflate window.
  package var workingBytes: Int { width * 8 * 4 + 128 * 1024 }

  /// libpng's warnings so far, which did not stop it.
  package var warnings: [String] { reader.warnings }

  /// Chooses the form of the rows. Must be called once, before the first row.
  package func start(_ output: Output) throws(ImageError) {
    precondition(rowBytes == 0, "a reader starts once")
    precondition(isPalette || output != .index8, "only palettes have indices")
    let mode =
      switch output {
      case .rgba8: PNG_SHIM_RGBA8
      case .native16: PNG_SHIM_NATIVE16
      case .index8: PNG_SHIM_INDEX8
      }
    let layout = try reader.start(mode)
    self.output = output
    outputChannels = Int(layout.channels)
    rowBytes = layout.row_bytes
    passCount = Int(layout.pass_count)
    rowsLeft = height * passCount
  }

  /// Reads the next row. After the last one the rest of the file is read and checked too.
  ///
  /// In an interlaced file each pass changes only some pixels of some rows. The caller keeps all rows and passes each
  /// row as the earlier passes left it; after the last pass it is complete. Before the first pass its content does not
  /// matter.
  ///
  /// - Parameter row: ``rowBytes`` bytes; 2-byte aligned for 16-bit samples.
  /// - Throws: ``ImageError`` `malformed`, with libpng's message. The reader cannot be used after that.
  package func readRow(into row: UnsafeMutableRawPointer) throws(ImageError) {
    precondition(rowsLeft > 0, "every row was read, or the reader was not started")
    try reader.readRow(into: row)
    rowsLeft -= 1
    if rowsLeft == 0 { try reader.finish() }
    guard hasAlpha else { return }
    switch output {
    case .rgba8: PixelBuffer.clearTransparentPixels(row, count: width)
    case .native16: clearTransparentSamples(row.assumingMemoryBound(to: UInt16.self))
    case .index8: break
    }
  }

  private func clearTransparentSamples(_ row: UnsafeMutablePointer<UInt16>) {
    let channels = outputChannels
    for i in 0..<width where row[i &* channels &+ channels &- 1] == 0 {
      for channel in 0..<channels { row[i &* channels &+ channel] = 0 }
    }
  }
}
