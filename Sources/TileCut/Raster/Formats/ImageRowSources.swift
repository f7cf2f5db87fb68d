import TileImage

/// The rows of a PNG file in the most compact ``PixelForm`` that holds them.
///
/// libpng delivers 8 bits, or 16 bits if a scale or a nodata value must be applied to 16-bit samples. All passes of an
/// interlaced file are decoded first, since each covers the whole image; they are kept in memory or in a scratch file.
final class PNGRowSource: RowSource {
  let path: String
  let width: Int
  let height: Int
  let form: PixelForm
  private let reader: PNGRowReader
  private let converter: SampleRowConverter?
  private let deinterlaced: DeinterlacedRows?
  private var nextRow = 0
  private let line: UnsafeMutableRawPointer
  /// Whether transparent, or partly transparent, pixels have occurred so far.
  private(set) var sawTransparent = false
  private(set) var sawSoft = false

  /// - Parameter memoryMax: bytes of an interlaced image that may be held in memory.
  init(path: String, reader: PNGRowReader, options: RasterOpenOptions, memoryMax: Int) throws {
    (self.path, self.reader) = (path, reader)
    (width, height) = (reader.width, reader.height)
    let isNative = options.scale != nil || (options.nodata != nil && reader.bitDepth == 16)
    let colours = reader.isGrey ? 1 : 3
    converter = try SampleRowConverter(
      options: options, colours: isNative ? colours : 3, channels: isNative ? reader.nativeChannels : 4,
      is16Bit: isNative, depth: reader.isPalette ? 8 : reader.bitDepth)
    form = reader.hasAlpha || converter != nil ? .rgba : reader.isGrey ? .indexed(.grey) : .rgb
    do { try reader.start(isNative ? .native16 : .rgba8) } catch { throw CutError(error, path: path) }
    line = .allocate(byteCount: reader.rowBytes + width * 4 + PixelForm.slackBytes, alignment: 64)
    deinterlaced =
      reader.passCount > 1
      ? DeinterlacedRows(
        rowBytes: reader.rowBytes, height: height, memoryMax: memoryMax, scratchDirectory: options.scratchDirectory)
      : nil
  }

  deinit { line.deallocate() }

  func readRow(into row: UnsafeMutableRawPointer) throws {
    do {
      if let deinterlaced {
        if nextRow == 0 { try deinterlaced.fill(from: reader) }
        try deinterlaced.readRow(nextRow, into: line)
      } else {
        try reader.readRow(into: line)
      }
    } catch let error as ImageError {
      throw CutError(error, path: path, row: deinterlaced == nil ? nextRow : nil)
    }
    nextRow += 1
    var words = line.assumingMemoryBound(to: UInt32.self)
    if let converter {
      words = (line + (reader.rowBytes + 3) / 4 * 4).assumingMemoryBound(to: UInt32.self)
      converter.convert(line, count: width, into: words)
    }
    if case .rgba = form { noteAlpha(words) }
    form.pack(words, count: width, into: row)
  }

  private func noteAlpha(_ words: UnsafePointer<UInt32>) {
    var (all, soft) = (UInt32.max, false)
    for i in 0..<width {
      all &= words[i]
      soft = soft || (words[i] != 0 && words[i] >> 24 != 255)
    }
    sawTransparent = sawTransparent || all >> 24 != 255
    sawSoft = sawSoft || soft
  }
}

/// The passes of an interlaced image combined, in memory or in a scratch file.
private final class DeinterlacedRows {
  private let rowBytes: Int
  private let height: Int
  private let memoryMax: Int
  private let scratchDirectory: String
  private var pixels: UnsafeMutableRawPointer?
  private var file: ScratchFile?

  init(rowBytes: Int, height: Int, memoryMax: Int, scratchDirectory: String) {
    (self.rowBytes, self.height) = (rowBytes, height)
    (self.memoryMax, self.scratchDirectory) = (memoryMax, scratchDirectory)
  }

  deinit { pixels?.deallocate() }

  /// Decodes all passes.
  func fill(from reader: PNGRowReader) throws {
    if rowBytes * height <= memoryMax {
      let memory = UnsafeMutableRawPointer.allocate(byteCount: rowBytes * height, alignment: 64)
      pixels = memory
      for _ in 0..<reader.passCount {
        for y in 0..<height { try reader.readRow(into: memory + y * rowBytes) }
      }
      return
    }
    let file = try ScratchFile(directory: scratchDirectory)
    self.file = file
    let row = UnsafeMutableRawPointer.allocate(byteCount: rowBytes, alignment: 64)
    defer { row.deallocate() }
    for pass in 0..<reader.passCount {
      for y in 0..<height {
        if pass > 0 { try file.read(into: row, count: rowBytes, at: y * rowBytes) }
        try reader.readRow(into: row)
        try file.write(row, count: rowBytes, at: y * rowBytes)
      }
    }
  }

  func readRow(_ y: Int, into row: UnsafeMutableRawPointer) throws {
    if let pixels {
      row.copyMemory(from: pixels + y * rowBytes, byteCount: rowBytes)
    } else {
      try file!.read(into: row, count: rowBytes, at: y * rowBytes)
    }
  }
}

/// The rows of a JPEG file, grey or RGB.
final class JPEGRowSource: RowSource {
  let path: String
  let width: Int
  let height: Int
  let form: PixelForm
  private let reader: JPEGRowReader
  private let converter: SampleRowConverter?
  private let line: UnsafeMutableRawPointer
  private var nextRow = 0

  /// - Parameter memoryMax: bytes that libjpeg may allocate; for progressive images it holds all coefficients.
  init(path: String, reader: JPEGRowReader, options: RasterOpenOptions, memoryMax: Int) throws {
    (self.path, self.reader) = (path, reader)
    (width, height) = (reader.width, reader.height)
    converter = try SampleRowConverter(options: options, colours: 3, channels: 4, is16Bit: false, depth: 8)
    form = converter != nil ? .rgba : reader.channels == 1 ? .indexed(.grey) : .rgb
    line = .allocate(byteCount: width * 4 + PixelForm.slackBytes, alignment: 64)
    do {
      try reader.start(memoryMax: memoryMax)
    } catch {
      guard error.code == .tooLarge else { throw CutError(error, path: path) }
      throw CutError(
        .badSource, path: path,
        "is a \(reader.isProgressive ? "progressive" : "multi-scan") JPEG that takes \(reader.workingBytes >> 20) MB to decode",
        remedy: "allow more memory with --memory, or convert it to a baseline JPEG or a GeoTIFF")
    }
  }

  deinit { line.deallocate() }

  func readRow(into row: UnsafeMutableRawPointer) throws {
    do { try reader.readRow(into: line) } catch { throw CutError(error, path: path, row: nextRow) }
    nextRow += 1
    let words = line.assumingMemoryBound(to: UInt32.self)
    converter?.convert(line, count: width, into: words)
    form.pack(words, count: width, into: row)
  }
}

/// Applies the user's scale and nodata values to rows of PNG or JPEG samples.
private struct SampleRowConverter {
  private let colours: Int
  private let channels: Int
  private let is16Bit: Bool
  private let scale: SampleScale
  private let nodata: [Double]?
  /// The converted size of one unit of the file's samples, since libpng stretches them to the full range of 8 or 16
  /// bits.
  private let unit: Double

  /// - Returns: nil if the options have neither scale nor nodata values.
  /// - Parameters:
  ///   - colours: 1 or 3, the first channels; a channel after them is alpha.
  ///   - depth: bits of the file's samples, in whose units the scale and nodata values are given.
  /// - Throws: ``CutError`` `.invalidOption` if the number of nodata values does not fit that of colours.
  init?(options: RasterOpenOptions, colours: Int, channels: Int, is16Bit: Bool, depth: Int) throws {
    guard options.scale != nil || options.nodata != nil else { return nil }
    (self.colours, self.channels, self.is16Bit) = (colours, channels, is16Bit)
    let high = Double((1 << (is16Bit ? 16 : 8)) - 1)
    unit = high / Double((1 << depth) - 1)
    scale = options.scale ?? SampleScale(unchecked: 0, Double((1 << depth) - 1))
    guard let values = options.nodata else {
      nodata = nil
      return
    }
    guard values.count == 1 || values.count >= colours else {
      throw CutError(
        .invalidOption, "\(values.count) nodata values do not fit \(colours) colour bands",
        remedy: "give one value, or one for each band")
    }
    nodata = (0..<colours).map { values[values.count == 1 ? 0 : $0] }
  }

  /// Converts `count` pixels of `channels` samples each to RGBA words.
  func convert(_ row: UnsafeRawPointer, count: Int, into words: UnsafeMutablePointer<UInt32>) {
    let wide = row.assumingMemoryBound(to: UInt16.self)
    let narrow = row.assumingMemoryBound(to: UInt8.self)
    func sample(_ i: Int) -> Double { is16Bit ? Double(wide[i]) : Double(narrow[i]) }
    for i in 0..<count {
      let first = i * channels
      var word: UInt32 = 0
      var isNodata = nodata != nil
      for colour in 0..<colours {
        let value = sample(first + colour) / unit
        if let nodata, abs(value - nodata[colour]) > 1e-6 { isNodata = false }
        let scaled = UInt32(max(0, min(255, scale.level(value) + 0.5)))
        word |= scaled << UInt32(8 * colour)
      }
      if colours == 1 { word *= 0x0001_0101 }
      let alpha = channels > colours ? UInt32((sample(first + colours) * (is16Bit ? 255 / 65535 : 1)).rounded()) : 255
      words[i] = isNodata || alpha == 0 ? 0 : word | alpha << 24
    }
  }
}

extension CutError {
  /// Turns a codec's error into one that names the file.
  ///
  /// - Parameter row: the row that was being decoded, if known.
  init(_ error: ImageError, path: String, row: Int? = nil) {
    let place = row.map { "row \($0) cannot be decoded: " } ?? "cannot be decoded: "
    self.init(
      .badSource, path: path, place + error.message, remedy: "the file is damaged; copy or make it again")
  }
}
