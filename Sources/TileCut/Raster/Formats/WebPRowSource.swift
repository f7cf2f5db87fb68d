import TileImage

/// A still WebP file in memory. libwebp decodes only from memory.
struct WebPImage {
  let path: String
  let width: Int
  let height: Int
  let hasAlpha: Bool
  let bytes: [UInt8]

  /// Reads the file and its header.
  ///
  /// - Throws: ``CutError`` `.badSource` if it is damaged or an animation.
  init(_ file: SourceFile) throws {
    path = file.path
    // A WebP file has at most 16,383 pixels per side; larger files hold something else, too.
    guard file.size <= 1 << 30 else {
      throw CutError(
        .badSource, path: path, "is too large for a WebP image: \(file.size) bytes", remedy: "convert it to a GeoTIFF")
    }
    bytes = file.bytes(at: 0, count: file.size)
    do {
      (width, height, hasAlpha) = try bytes.withUnsafeBytes { bytes in
        try ImageDecoder.webPHeader(bytes)
      }
    } catch let error as ImageError {
      throw CutError(error, path: file.path)
    }
  }
}

/// The rows of a WebP file, which is decoded as a whole: lossless images refer to any pixel before.
final class WebPRowSource: RowSource {
  let path: String
  let width: Int
  let height: Int
  let form: PixelForm
  let alphaKind: AlphaKind
  private let pixels: PixelBuffer
  private let converter: SampleRowConverter?
  private let line: UnsafeMutablePointer<UInt32>
  private var nextRow = 0

  /// - Parameter memoryMax: bytes that decoding may take.
  init(_ image: WebPImage, options: RasterOpenOptions, memoryMax: Int) throws {
    (path, width, height) = (image.path, image.width, image.height)
    // The decoded pixels, and as many inside libwebp.
    let needed = image.bytes.count + 8 * width * height
    guard needed <= memoryMax else {
      throw CutError(
        .badSource, path: path, "is a WebP image that takes \(needed >> 20) MB to decode",
        remedy: options.remedy(cacheBytes: needed, orElse: "convert it to a GeoTIFF"))
    }
    let channels = RowChannels(count: 4, colours: 3, alpha: image.hasAlpha ? 3 : nil)
    converter = try SampleRowConverter(
      options: options, scale: options.keeps8Bit ? nil : options.scale, channels: channels, is16Bit: false, depth: 8,
      path: path)
    alphaKind = converter?.alphaKind ?? (image.hasAlpha ? .soft : .opaque)
    form = alphaKind == .soft || converter != nil ? .rgba : .rgb
    do {
      pixels = try image.bytes.withUnsafeBytes { bytes in
        try ImageDecoder.decode(bytes, pixelCountMax: image.width * image.height)
      }
    } catch let error as ImageError {
      throw CutError(error, path: image.path)
    }
    line = .allocate(capacity: width)
  }

  deinit { line.deallocate() }

  func readRow(into row: UnsafeMutableRawPointer) throws {
    let source = UnsafeRawPointer(pixels.bytes) + nextRow * pixels.rowBytes
    nextRow += 1
    if let converter {
      converter.convert(source, count: width, into: line)
      form.pack(line, count: width, into: row)
    } else {
      form.pack(source.assumingMemoryBound(to: UInt32.self), count: width, into: row)
    }
  }
}
