import TileImage

/// The rows of a JPEG file, grey or RGB.
final class JPEGRows: RowSource {
  let path: String
  let width: Int
  let height: Int
  let form: PixelForm
  private let reader: JPEGRowReader
  private let converter: SampleRowConverter?
  private let line: UnsafeMutableRawPointer
  private var nextRow = 0

  /// - Parameter memoryMax: bytes that libjpeg may hold, which for progressive images is all coefficients.
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
