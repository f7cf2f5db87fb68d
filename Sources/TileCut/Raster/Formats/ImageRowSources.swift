import TileImage

/// The rows of a PNG file in the most compact ``PixelForm`` that holds them.
///
/// libpng delivers 8 bits, or 16 bits if a scale must be applied. All passes of an interlaced file are decoded first,
/// since each covers the whole image; they are kept in memory or in a scratch file.
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
  init(_ file: SourceFile, reader: PNGRowReader, options: RasterOpenOptions, memoryMax: Int) throws {
    (path, self.reader) = (file.path, reader)
    (width, height) = (reader.width, reader.height)
    let depth = reader.isPalette ? 8 : reader.bitDepth
    let readsIndices = Self.readsIndices(reader, options)
    let isScaled = options.colourTable == nil && (depth > 8 || !options.keeps8Bit) && !readsIndices
    let scale = isScaled ? options.scale : nil
    if depth > 8, scale == nil, options.colourTable == nil {
      throw CutError.scaleWanted(
        path: path, kind: "\(depth)-bit", sample: try? Self.valueSample(file, options: options))
    }
    let isNative = scale != nil || depth > 8
    let channels =
      readsIndices ? RowChannels(count: 1, colours: 1, alpha: nil) : Self.channels(reader, isNative: isNative)
    converter = try SampleRowConverter(
      options: options, scale: scale, channels: channels, is16Bit: isNative, depth: depth, path: path)
    form = reader.hasAlpha || converter != nil ? .rgba : reader.isGrey ? .indexed(.grey) : .rgb
    do {
      try reader.start(isNative ? .native16 : readsIndices ? .index8 : .rgba8)
    } catch {
      throw CutError(error, path: path)
    }
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

  /// A VRT says what the indices of a palette mean.
  private static func readsIndices(_ reader: PNGRowReader, _ options: RasterOpenOptions) -> Bool {
    reader.isPalette && options.colourTables != nil && !options.readsHeights
  }

  /// Whether the colours of a file need a scale.
  static func needsScale(path: String) throws -> Bool {
    do {
      let reader = try PNGRowReader(path: path)
      return !reader.isPalette && reader.bitDepth == 16
    } catch {
      throw CutError(error, path: path)
    }
  }

  /// A sample of the colours' values of a file; nil if they need no scale.
  ///
  /// The whole file is decoded, because there is no other way to its last rows. Of an interlaced one the last pass is
  /// taken: every other row.
  static func valueSample(_ file: SourceFile, options: RasterOpenOptions) throws -> ValueSample? {
    let path = file.readablePath
    do {
      let reader = try PNGRowReader(path: path)
      guard !reader.isPalette, reader.bitDepth == 16, options.colourTable == nil else { return nil }
      try reader.start(.native16)
      let channels = try Self.channels(reader, isNative: true).chosen(options, path: path)
      let line = UnsafeMutableRawPointer.allocate(byteCount: reader.rowBytes + PixelForm.slackBytes, alignment: 64)
      line.initializeMemory(as: UInt8.self, repeating: 0, count: reader.rowBytes + PixelForm.slackBytes)
      defer { line.deallocate() }
      let samples = line.assumingMemoryBound(to: UInt16.self)
      var sample = ValueSample()
      sample.statedRange = options.statedRange(of: channels.colours.map { $0 + 1 })
      let step = reader.width * reader.height / ValueSample.countMax
      let shown = try ShownPixels(of: file, width: reader.width, height: reader.height)
      for pass in 1...reader.passCount {
        for y in 0..<reader.height {
          try reader.readRow(into: line)
          guard pass == reader.passCount, reader.passCount == 1 || y % 2 == 1 else { continue }
          let flags = try shown.words(PixelRect(x: 0, y: y, width: reader.width, height: 1))
          for x in 0..<reader.width where ValueSample.takes(y * reader.width + x, step: step) && flags?[x] != 0 {
            let first = x * reader.outputChannels
            if let alpha = channels.alpha, samples[first + alpha] == 0 { continue }
            let values = channels.colours.map { Double(samples[first + $0]) }
            if let nodata = options.nodata, !nodata.isEmpty,
              values.indices.allSatisfy({ values[$0] == nodata[min($0, nodata.count - 1)] })
            {
              continue
            }
            sample.add(values)
          }
        }
      }
      return sample
    } catch let error as ImageError {
      throw CutError(error, path: path)
    }
  }

  /// Where the file's bands lie in a row: in its own channels, or in RGBA.
  private static func channels(_ reader: PNGRowReader, isNative: Bool) -> RowChannels {
    let colours = reader.isGrey ? 1 : 3
    if isNative {
      return RowChannels(count: reader.nativeChannels, colours: colours, alpha: reader.hasAlpha ? colours : nil)
    }
    return RowChannels(count: 4, colours: colours, alpha: reader.hasAlpha ? 3 : nil)
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
    let scale = options.keeps8Bit ? nil : options.scale
    let options = options.withAuxiliaryColours
    converter = try SampleRowConverter(
      options: options, scale: scale,
      channels: RowChannels(count: 4, colours: reader.channels == 1 ? 1 : 3, alpha: nil),
      is16Bit: false, depth: 8, path: path)
    form = converter != nil ? .rgba : reader.channels == 1 ? .indexed(.grey) : .rgb
    line = .allocate(byteCount: width * 4 + PixelForm.slackBytes, alignment: 64)
    do {
      try reader.start(memoryMax: memoryMax)
    } catch {
      guard error.code == .tooLarge else { throw CutError(error, path: path) }
      throw CutError(
        .badSource, path: path,
        "is a \(reader.isProgressive ? "progressive" : "multi-scan") JPEG"
          + " that takes \(reader.workingBytes >> 20) MB to decode",
        // libjpeg allocates in pieces, of which some are larger than they need to be.
        remedy: options.remedy(
          cacheBytes: max(reader.workingBytes + reader.workingBytes / 16, memoryMax) + 1_000_000,
          orElse: "convert it to a baseline JPEG or a GeoTIFF"))
    }
  }

  deinit { line.deallocate() }

  var alphaKind: AlphaKind { converter?.alphaKind ?? .opaque }

  func readRow(into row: UnsafeMutableRawPointer) throws {
    do { try reader.readRow(into: line) } catch { throw CutError(error, path: path, row: nextRow) }
    nextRow += 1
    let words = line.assumingMemoryBound(to: UInt32.self)
    converter?.convert(line, count: width, into: words)
    form.pack(words, count: width, into: row)
  }
}
