import TileImage

/// A PNG, JPEG or WebP image, placed by a world file and a .prj file or by options.
///
/// These formats decode only from top to bottom, so the image is decoded once when it is opened and kept for random
/// access.
package final class ImageSource: RasterSource {
  package let path: String
  package let width: Int
  package let height: Int
  package let alphaKind: AlphaKind
  package let georeference: Georeference
  package let warnings: [String]
  private let reader: any WindowReader

  /// Opens a PNG file.
  convenience init(png file: SourceFile, options: RasterOpenOptions) throws {
    let reader: PNGRowReader
    do { reader = try PNGRowReader(path: file.readablePath) } catch { throw CutError(error, path: file.path) }
    // In a palette image the file beside it means an index, of which nothing is left after decoding.
    let options = reader.isPalette ? options : options.withAuxiliaryNodata
    // Byte 25 is the colour type; bit 2 means an alpha channel, in contrast to single transparent colours.
    let hasAlphaChannel = file.prefix(26).last.map { $0 & 4 != 0 } ?? false
    try self.init(file, width: reader.width, height: reader.height, options: options) { cache in
      try Self.requireData(file, pixelBytes: Self.packedBytes(reader))
      return try PNGRowSource(file, reader: reader, options: options, memoryMax: cache.bytesMax / 2)
    } alphaKind: { rows in
      !rows.sawTransparent ? .opaque : hasAlphaChannel || rows.sawSoft ? .soft : .mask
    } warnings: {
      reader.warnings.map { "\(file.path): libpng warns: \($0)" }
    }
  }

  /// Opens a JPEG file.
  convenience init(jpeg file: SourceFile, options: RasterOpenOptions) throws {
    let reader: JPEGRowReader
    do { reader = try JPEGRowReader(path: file.readablePath) } catch { throw CutError(error, path: file.path) }
    let options = options.withAuxiliaryNodata
    try self.init(file, width: reader.width, height: reader.height, options: options) { cache in
      try JPEGRowSource(path: file.path, reader: reader, options: options, memoryMax: cache.bytesMax)
    } alphaKind: { rows in
      rows.alphaKind
    } warnings: {
      reader.warnings.map { "\(file.path): libjpeg warns: \($0)" }
    }
  }

  /// Opens a WebP file.
  convenience init(webp file: SourceFile, options: RasterOpenOptions) throws {
    let image = try WebPImage(file)
    let options = options.withAuxiliaryNodata
    try self.init(file, width: image.width, height: image.height, options: options) { cache in
      try WebPRowSource(image, options: options, memoryMax: cache.bytesMax)
    } alphaKind: { rows in
      rows.alphaKind
    } warnings: {
      []
    }
  }

  /// - Parameters:
  ///   - rows: opens the rows; called after the image is placed, which is cheap and may fail.
  ///   - alphaKind: called after all rows are decoded; `warnings` likewise.
  private init<Rows: RowSource>(
    _ file: SourceFile, width: Int, height: Int, options: RasterOpenOptions, rows: (BlockCache) throws -> Rows,
    alphaKind: (Rows) -> AlphaKind, warnings: () -> [String]
  ) throws {
    path = file.path
    let remarks = WarningList()
    let orientation = Orientation(code: ExifOrientation.code(file), options: options, path: path) { remarks.add($0) }
    (self.width, self.height) = orientation.size(width: width, height: height)
    georeference = try Placement(path: path, width: self.width, height: self.height, warnings: remarks)
      .georeference(options)
    let cache = options.cache ?? BlockCache(bytesMax: options.cacheBytesMax)
    let mask = try TIFFPart.mask(beside: file, width: width, height: height, warnings: remarks)
    let rows = try rows(cache)
    let pixels = try rows.readAll(cache: cache, scratchDirectory: options.scratchDirectory)
      .masked(by: mask, cache: cache, scratchDirectory: options.scratchDirectory)
    reader = orientation.turned(pixels, width: self.width, height: self.height)
    let kind = alphaKind(rows)
    self.alphaKind = mask != nil && kind == .opaque ? .mask : kind
    self.warnings = remarks.all + warnings()
  }

  package func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    try reader.read(window, into: target, rowBytes: rowBytes)
  }

  /// Deflate compresses at most 1032 times: a smaller file is truncated or its header is wrong.
  private static func requireData(_ file: SourceFile, pixelBytes: Int) throws {
    guard pixelBytes / 1032 <= file.size else {
      throw CutError(
        .badSource, path: file.path, "is cut short: \(file.size) bytes cannot hold its pixels",
        remedy: "copy or make it again")
    }
  }

  private static func packedBytes(_ reader: PNGRowReader) -> Int {
    let channels = reader.isPalette ? 1 : reader.isGrey ? 1 : 3
    return (reader.width * channels * reader.bitDepth + 7) / 8 * reader.height
  }
}
