import CPNGShim

/// Decodes a PNG file row by row, for sources too large to be held in memory.
///
/// 1. `init` reads the header; nothing that depends on the image's size is allocated, so that the caller can judge it.
/// 2. ``start(_:)`` chooses the form of the rows.
/// 3. ``readRow(into:)`` gives all rows from the top; an interlaced image gives all rows ``passCount`` times.
///
/// Rows have straight alpha; in transparent pixels all samples are 0. Gamma and colour profiles are ignored. Not safe to share.
package final class PNGRowReader {
  /// What the rows hold.
  package enum Output: Sendable {
    /// Red, green, blue, alpha, 8 bits each; 16-bit samples are scaled down, rounded to the nearest.
    case rgba8
    /// The file's own channels with 16 bits each, in the machine's byte order: grey (1), grey and alpha (2), RGB (3) or RGBA (4).
    /// A palette becomes RGB or RGBA, tRNS an alpha channel; samples of fewer bits are scaled up to the full range.
    case native16
  }

  package let width: Int
  package let height: Int
  /// Bits in a sample of the file: 1, 2, 4, 8 or 16.
  package let bitDepth: Int
  /// The file has an alpha channel or a tRNS chunk.
  package let hasAlpha: Bool
  /// The file is grey, with or without alpha.
  package let isGrey: Bool
  package let isPalette: Bool
  package let isInterlaced: Bool

  /// Samples in a pixel of the rows, from ``start(_:)`` on.
  package private(set) var outputChannels = 4
  /// Bytes in a row, from ``start(_:)`` on.
  package private(set) var rowBytes = 0
  /// How often all rows are to be read: 1, or 7 when the file is interlaced; from ``start(_:)`` on.
  package private(set) var passCount = 1

  private let reader: PNGReaderHandle
  private var output = Output.rgba8
  private var rowsLeft = 0

  /// Opens a file and reads its header.
  ///
  /// - Throws: ``ImageError`` `malformed`, in libpng's or the system's words, without the path.
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

  /// The channels that ``Output/native16`` would give.
  package var nativeChannels: Int { (isGrey ? 1 : 3) + (hasAlpha ? 1 : 0) }

  /// The memory that decoding takes, in bytes: libpng's few rows and its inflate window. An estimate from above.
  package var workingBytes: Int { width * 8 * 4 + 128 * 1024 }

  /// libpng's warnings so far: things that did not stop it.
  package var warnings: [String] { reader.warnings }

  /// Chooses the form of the rows; to be called once, before the first row.
  package func start(_ output: Output) throws(ImageError) {
    precondition(rowBytes == 0, "a reader starts once")
    let layout = try reader.start(output == .rgba8 ? PNG_SHIM_RGBA8 : PNG_SHIM_NATIVE16)
    self.output = output
    outputChannels = Int(layout.channels)
    rowBytes = layout.row_bytes
    passCount = Int(layout.pass_count)
    rowsLeft = height * passCount
  }

  /// Reads the next row; after the last one the rest of the file is read and checked too.
  ///
  /// In an interlaced file a pass changes only some pixels of some rows: `row` must hold what the earlier passes left in that row (the
  /// caller keeps all rows), and after the last pass it is complete. Before the first pass its content does not matter.
  ///
  /// - Parameter row: ``rowBytes`` bytes; 2-byte aligned for 16-bit samples.
  /// - Throws: ``ImageError`` `malformed`, in libpng's words; the reader is of no use afterwards.
  package func readRow(into row: UnsafeMutableRawPointer) throws(ImageError) {
    precondition(rowsLeft > 0, "every row was read, or the reader was not started")
    try reader.readRow(into: row)
    rowsLeft -= 1
    if rowsLeft == 0 { try reader.finish() }
    guard hasAlpha else { return }
    switch output {
    case .rgba8: PixelBuffer.clearTransparentPixels(row, count: width)
    case .native16: clearTransparentSamples(row.assumingMemoryBound(to: UInt16.self))
    }
  }

  private func clearTransparentSamples(_ row: UnsafeMutablePointer<UInt16>) {
    let channels = outputChannels
    for i in 0..<width where row[i &* channels &+ channels &- 1] == 0 {
      for channel in 0..<channels { row[i &* channels &+ channel] = 0 }
    }
  }
}
