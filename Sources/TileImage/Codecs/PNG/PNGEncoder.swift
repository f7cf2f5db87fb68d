/// Writes PNG files that hold exactly the pixels given and are small for the time spent: own analysis, palettes and filters, libdeflate
/// for the rest. One per worker; compressors and buffers are kept between tiles.
///
/// 1. Number the colours; up to 256 make a palette (or grey), more decide for grey, grey and alpha, RGB or RGBA.
/// 2. Pack the rows in that form.
/// 3. Filter the rows or not, as the picture suggests.
/// 4. Compress, and put the chunks round the result. No ancillary chunks: a map tile is sRGB by custom.
final class PNGEncoder {
  private let options: PNGOptions
  private let table = ColourTable()
  private var deflaters: [Int: Deflater] = [:]
  private let indices = ScratchBuffer()
  private let packed = ScratchBuffer()
  private let filtered = ScratchBuffer()
  private let rowScratch = ScratchBuffer()
  private let file = ScratchBuffer()

  /// Rough levels; see docs of ``PNGOptions``.
  private static let photographicLevel = 5
  private static let flatLevel = 8

  nonisolated(unsafe) package static var forceFilter = -1
  nonisolated(unsafe) package static var order = 0

  init(options: PNGOptions) {
    self.options = options
  }

  /// Encodes straight RGBA8 pixels.
  ///
  /// - Throws: ``ImageError`` of code `encodingFailed` when the size is none that PNG can express.
  func encode(_ pixels: PixelBuffer) throws -> [UInt8] {
    guard (1...0x7fff_ffff).contains(pixels.width) && (1...0x7fff_ffff).contains(pixels.height) else {
      throw ImageError(.encodingFailed, "PNG has no images of \(pixels.width) x \(pixels.height) pixels")
    }
    let count = pixels.width * pixels.height
    let numbers = indices.reserve(count).bindMemory(to: UInt8.self, capacity: count)
    if table.number(pixels.bytes, count: count, into: numbers) {
      let form = PNGForm(colours: UnsafeBufferPointer(start: table.colours, count: table.count))
      if case .palette(let bits) = form {
        return writeIndexed(pixels, numbers: numbers, form: form, bits: bits)
      }
      return writeDirect(pixels, form: form)
    }
    return writeDirect(pixels, form: PNGForm(manyColours: pixels.bytes, count: count))
  }

  private func writeIndexed(
    _ pixels: PixelBuffer, numbers: UnsafeMutablePointer<UInt8>, form: PNGForm, bits: Int
  ) -> [UInt8] {
    let palette = PNGPalette(table)
    palette.order.withUnsafeBufferPointer { order in
      let order = order.baseAddress!
      for i in 0..<(pixels.width * pixels.height) {
        numbers[i] = order[Int(numbers[i])]
      }
    }
    let rowBytes = form.rowBytes(width: pixels.width)
    let byteCount = (rowBytes + 1) * pixels.height
    let rows = filtered.reserve(byteCount).bindMemory(to: UInt8.self, capacity: byteCount)
    for row in 0..<pixels.height {
      let output = rows + row * (rowBytes + 1)
      // Filters make a muddle of indices.
      output[0] = 0
      PNGPacker.pack(numbers + row * pixels.width, count: pixels.width, bits: bits, into: output + 1)
    }
    return write(
      pixels, form: form, palette: palette, rows: rows, count: byteCount, level: options.compressionLevel ?? Self.flatLevel)
  }

  private func writeDirect(_ pixels: PixelBuffer, form: PNGForm) -> [UInt8] {
    let rowBytes = form.rowBytes(width: pixels.width)
    let stride = rowBytes + PNGFilter.rowPadding
    // One row of zeros above the first; zeros before each row; room for the packer's surplus bytes after the last.
    let base = packed.reserve(stride * (pixels.height + 1) + PNGFilter.rowPadding)
    base.initializeMemory(as: UInt8.self, repeating: 0, count: stride)
    let byteCount = (rowBytes + 1) * pixels.height
    let output = filtered.reserve(byteCount)
    let scratch = rowScratch.reserve(4 * (rowBytes + 16))
    let filters = Self.forceFilter == -1 ? Self.wantsFilters(pixels) : Self.forceFilter == 1
    for row in 0..<pixels.height {
      let line = base + (row + 1) * stride + PNGFilter.rowPadding
      PNGPacker.pack(pixels.bytes + row * pixels.rowBytes, count: pixels.width, as: form, into: line)
      (line - PNGFilter.rowPadding).initializeMemory(as: UInt8.self, repeating: 0, count: PNGFilter.rowPadding)
      let target = output + row * (rowBytes + 1)
      if filters {
        PNGFilter.apply(
          line, previous: line - stride, count: rowBytes, pixelBytes: form.pixelBits / 8, scratch: scratch,
          into: target)
      } else {
        target.storeBytes(of: 0, as: UInt8.self)
        (target + 1).copyMemory(from: line, byteCount: rowBytes)
      }
    }
    let level = options.compressionLevel ?? (filters ? Self.photographicLevel : Self.flatLevel)
    return write(pixels, form: form, palette: nil, rows: output, count: byteCount, level: level)
  }

  /// Whether rows should be filtered.
  private static func wantsFilters(_ pixels: PixelBuffer) -> Bool {
    true
  }

  private func write(
    _ pixels: PixelBuffer, form: PNGForm, palette: PNGPalette?, rows: UnsafeRawPointer, count: Int, level: Int
  ) -> [UInt8] {
    let deflater = deflater(level: level)
    let dataMax = deflater.byteCountMax(count)
    let capacity =
      PNGChunkWriter.headerBytes + 2 * PNGChunkWriter.chunkOverhead + dataMax
      + (palette == nil ? 0 : 2 * PNGChunkWriter.chunkOverhead + 256 * 4)
    var writer = PNGChunkWriter(
      file.reserve(capacity), width: pixels.width, height: pixels.height, form: form)
    if let palette { writer.writePalette(palette) }
    let idat = writer.begin("IDAT")
    writer.advance(by: deflater.compress(rows, count: count, into: writer.next, capacity: dataMax))
    writer.end(idat)
    writer.finish()
    return [UInt8](UnsafeRawBufferPointer(start: writer.bytes, count: writer.count))
  }

  private func deflater(level: Int) -> Deflater {
    if let deflater = deflaters[level] { return deflater }
    let deflater = Deflater(level: level)
    deflaters[level] = deflater
    return deflater
  }
}
