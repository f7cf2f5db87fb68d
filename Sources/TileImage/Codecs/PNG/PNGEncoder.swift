/// Writes lossless PNG files that are small for the time spent: own analysis, palettes and filters, and libdeflate for
/// compression. One instance per worker: it reuses compressors and buffers.
///
/// 1. Number the colours. Up to 256 make a palette (or grey); with more, the form is grey, grey and alpha, RGB or RGBA.
/// 2. Pack the rows in that form.
/// 3. Filter the rows or not, depending on the image.
/// 4. Compress, by Huffman codes alone or with libdeflate, and write the chunks. No ancillary chunks: map tiles are
///    sRGB by convention.
final class PNGEncoder {
  private let options: PNGOptions
  private let table = ColourIndex()
  private var deflaters = [Deflater?](repeating: nil, count: 13)
  private let huffmanDeflater = HuffmanDeflater()
  private let repeatEstimate = RepeatEstimate()
  private let indices = ScratchBuffer()
  private let rows = PNGScanlines()
  private let file = ScratchBuffer()

  init(options: PNGOptions) {
    if let level = options.compressionLevel {
      precondition((1...12).contains(level), "libdeflate has levels 1 to 12")
    }
    self.options = options
  }

  /// Encodes straight RGBA8 pixels.
  ///
  /// - Throws: ``ImageError`` of code `encodingFailed` for sizes that PNG cannot express.
  func encode(_ pixels: PixelBuffer) throws(ImageError) -> [UInt8] {
    let sides = 1...0x7fff_ffff
    guard sides.contains(pixels.width) && sides.contains(pixels.height) else {
      throw ImageError(.encodingFailed, "PNG has no images of \(pixels.width) x \(pixels.height) pixels")
    }
    let count = pixels.width * pixels.height
    let numbers = indices.reserve(count).bindMemory(to: UInt8.self, capacity: count)
    guard table.number(pixels.bytes, count: count, into: numbers) else {
      return try encode(pixels, as: PNGForm(manyColours: pixels.bytes, count: count))
    }
    let form = PNGForm(colours: UnsafeBufferPointer(start: table.colours, count: table.count))
    guard case .palette(let bits) = form else { return try encode(pixels, as: form) }
    let palette = PNGPalette(table)
    palette.order.withUnsafeBufferPointer { order in
      let order = order.baseAddress!
      for i in 0..<count {
        numbers[i] = order[Int(numbers[i])]
      }
    }
    let data = rows.packIndices(numbers, width: pixels.width, height: pixels.height, bits: bits)
    return try write(pixels, form: form, palette: palette, data: data, .level(options.effort.paletteLevel))
  }

  private func encode(_ pixels: PixelBuffer, as form: PNGForm) throws(ImageError) -> [UInt8] {
    rows.pack(pixels, as: form)
    let pixelBytes = form.pixelBits / 8
    var filtered =
      switch options.effort {
      case .fast: rows.filtered(pixelBytes: pixelBytes)
      case .balanced: rows.filteredInBands(pixelBytes: pixelBytes)
      case .small: rows.filteredByPairs(pixelBytes: pixelBytes)
      }
    if Self.repeatShare(of: pixels) >= Self.doubtfulRepeatShare {
      let plain = rows.unfiltered()
      if try trialShare(plain) < trialShare(filtered) {
        return try write(pixels, form: form, palette: nil, data: plain, .level(options.effort.unfilteredLevel))
      }
    }
    if let level = options.compressionLevel {
      return try write(pixels, form: form, palette: nil, data: filtered, .level(level))
    }
    let repeats = repeatEstimate.share(filtered, height: rows.height, rowBytes: rows.rowBytes)
    let compression = try options.effort.filteredCompression(
      repeats: repeats, share: { () throws(ImageError) in try trialShare(filtered) })
    // Bands and pairs are filtered for the sake of repeats.
    if compression == .huffman, options.effort == .balanced { filtered = rows.filtered(pixelBytes: pixelBytes) }
    let bytes = try write(pixels, form: form, palette: nil, data: filtered, compression)
    guard options.effort == .small, repeats < PNGEffort.fewRepeats else { return bytes }
    let other = try write(
      pixels, form: form, palette: nil, data: rows.filtered(pixelBytes: pixelBytes), .huffman)
    return other.count < bytes.count ? other : bytes
  }

  private func write(
    _ pixels: PixelBuffer, form: PNGForm, palette: PNGPalette?, data: UnsafeRawPointer, _ compression: PNGCompression
  ) throws(ImageError) -> [UInt8] {
    let compressor: any ZlibCompressor =
      switch options.compressionLevel.map(PNGCompression.level) ?? compression {
      case .huffman: huffmanDeflater
      case .level(let level): try deflater(level: level)
      }
    let dataMax = compressor.byteCountMax(rows.byteCount)
    // A chunk's length has 31 bits, and only one IDAT is written.
    guard dataMax <= 0x7fff_ffff else {
      throw ImageError(.encodingFailed, "PNG: \(pixels.width) x \(pixels.height) pixels are too many for one chunk")
    }
    let capacity = PNGChunkWriter.headerBytes + PNGChunkWriter.paletteBytesMax + 2 * PNGChunkWriter.chunkOverhead
    var writer = PNGChunkWriter(
      file.reserve(capacity + dataMax), width: pixels.width, height: pixels.height, form: form)
    if let palette { writer.writePalette(palette) }
    let idat = writer.begin("IDAT")
    writer.advance(by: compressor.compress(data, count: rows.byteCount, into: writer.next, capacity: dataMax))
    writer.end(idat)
    writer.finish()
    return [UInt8](UnsafeRawBufferPointer(start: writer.bytes, count: writer.count))
  }

  private func deflater(level: Int) throws(ImageError) -> Deflater {
    if let deflater = deflaters[level] { return deflater }
    let deflater = try Deflater(level: level)
    deflaters[level] = deflater
    return deflater
  }
}

extension PNGEncoder {
  /// Below this share of repeated pixels filtering always won (1,050 tiles of 256 pixels: imagery, relief, scans and
  /// cartography). Above it either side wins by up to a third.
  private static let doubtfulRepeatShare = 0.6

  /// The share of pixels that equal their left or upper neighbour (the mean of both shares), in every fourth row.
  private static func repeatShare(of pixels: PixelBuffer) -> Double {
    let width = pixels.width
    var repeats = 0
    var compared = 0
    for row in stride(from: 1, to: pixels.height, by: 4) {
      let line = UnsafeRawPointer(pixels.bytes) + row * pixels.rowBytes
      let above = line - pixels.rowBytes
      var count: UInt32 = 0
      for i in 1..<max(width, 1) {
        let pixel = line.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
        count &+= pixel == line.loadUnaligned(fromByteOffset: i &* 4 &- 4, as: UInt32.self) ? 1 : 0
        count &+= pixel == above.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self) ? 1 : 0
      }
      repeats += Int(count)
      compared += 2 * (width - 1)
    }
    return compared == 0 ? 1 : Double(repeats) / Double(compared)
  }

  /// The bytes of four bands of 1/16 of the rows each, compressed at a fast level, per byte before. It predicts which
  /// of two filterings compresses better: on the tiles in doubt the choice costs 0.3% more bytes than trying both, at a
  /// fraction of the time.
  private func trialShare(_ data: UnsafeRawPointer) throws(ImageError) -> Double {
    let deflater = try deflater(level: 1)
    let bandRows = max(rows.height / 16, min(rows.height, 4))
    let bands = PNGScanlines.bands(of: data, height: rows.height, rowBytes: rows.rowBytes, bandRows: bandRows)
    let capacity = deflater.byteCountMax(bandRows * rows.rowBytes)
    let scratch = file.reserve(capacity)
    var sum = 0
    for band in bands {
      sum += deflater.compress(band.baseAddress!, count: band.count, into: scratch, capacity: capacity)
    }
    return Double(sum) / Double(max(bands.count * bandRows * rows.rowBytes, 1))
  }
}
