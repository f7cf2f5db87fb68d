import TileImage

/// A PNG or JPEG image, placed by a world file and a .prj file or by options.
///
/// Both formats decode only from top to bottom, so the image is decoded once when it is opened and kept for random
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
  init(png file: SourceFile, options: RasterOpenOptions) throws {
    path = file.path
    let reader: PNGRowReader
    do { reader = try PNGRowReader(path: file.readablePath) } catch { throw CutError(error, path: file.path) }
    (width, height) = (reader.width, reader.height)
    georeference = try Placement(path: path, width: width, height: height).georeference(options)
    let cache = options.cache ?? BlockCache(bytesMax: options.cacheBytesMax)
    try Self.requireData(file, pixelBytes: Self.packedBytes(reader))
    let rows = try PNGRowSource(path: path, reader: reader, options: options, memoryMax: cache.bytesMax / 2)
    self.reader = try rows.readAll(cache: cache, scratchDirectory: options.scratchDirectory)
    // Byte 25 is the colour type; bit 2 means an alpha channel, in contrast to single transparent colours.
    let hasAlphaChannel = file.prefix(26).last.map { $0 & 4 != 0 } ?? false
    alphaKind = !rows.sawTransparent ? .opaque : hasAlphaChannel || rows.sawSoft ? .soft : .mask
    warnings = reader.warnings.map { "\(file.path): libpng warns: \($0)" }
  }

  /// Opens a JPEG file.
  init(jpeg file: SourceFile, options: RasterOpenOptions) throws {
    path = file.path
    let reader: JPEGRowReader
    do { reader = try JPEGRowReader(path: file.readablePath) } catch { throw CutError(error, path: file.path) }
    (width, height) = (reader.width, reader.height)
    georeference = try Placement(path: path, width: width, height: height).georeference(options)
    let cache = options.cache ?? BlockCache(bytesMax: options.cacheBytesMax)
    let rows = try JPEGRowSource(path: path, reader: reader, options: options, memoryMax: cache.bytesMax)
    self.reader = try rows.readAll(cache: cache, scratchDirectory: options.scratchDirectory)
    alphaKind = options.nodata == nil ? .opaque : .mask
    warnings = reader.warnings.map { "\(file.path): libjpeg warns: \($0)" }
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
