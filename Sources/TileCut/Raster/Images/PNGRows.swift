import TileImage

/// The rows of a PNG file in the most compact form that holds them.
///
/// 8-bit output unless a scale or a nodata value must be applied to 16-bit samples. An interlaced file is unfolded first: all its passes
/// go over the whole image, which is kept in memory if that is allowed, else in a scratch file.
final class PNGRows: RowSource {
  let path: String
  let width: Int
  let height: Int
  let form: PixelForm
  private let reader: PNGRowReader
  private let converter: SampleRowConverter?
  private let unfolded: UnfoldedRows?
  private var nextRow = 0
  private let line: UnsafeMutableRawPointer
  /// Transparent, or partly transparent, pixels seen so far.
  private(set) var sawTransparent = false
  private(set) var sawSoft = false

  /// - Parameter memoryMax: bytes that an interlaced image may take in memory.
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
    unfolded =
      reader.passCount > 1
      ? UnfoldedRows(
        rowBytes: reader.rowBytes, height: height, memoryMax: memoryMax, scratchDirectory: options.scratchDirectory)
      : nil
  }

  deinit { line.deallocate() }

  func readRow(into row: UnsafeMutableRawPointer) throws {
    do {
      if let unfolded {
        if nextRow == 0 { try unfolded.fill(from: reader) }
        try unfolded.readRow(nextRow, into: line)
      } else {
        try reader.readRow(into: line)
      }
    } catch let error as ImageError {
      throw CutError(error, path: path, row: unfolded == nil ? nextRow : nil)
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

/// An interlaced image being put together, in memory or in a scratch file.
final class UnfoldedRows {
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

  /// Reads all passes.
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
