/// An image with at most 256 colours, one byte per pixel: lossless, in a quarter of the memory of a ``PixelBuffer``.
///
/// It is immutable, so it can be shared between threads.
public final class PalettePixels: Sendable {
  /// Pixels per row.
  public let width: Int
  /// The number of rows.
  public let height: Int
  /// Straight RGBA8 as little-endian words, in the order of their first appearance.
  public let colours: [UInt32]
  /// Row-major, an index into ``colours`` for each pixel.
  package let indices: [UInt8]

  /// The memory: one byte per pixel and four per colour.
  public var byteCount: Int { indices.count + colours.count * 4 }

  private init(width: Int, height: Int, colours: [UInt32], indices: [UInt8]) {
    self.width = width
    self.height = height
    self.colours = colours
    self.indices = indices
  }

  /// Nil when the image has more than 256 colours.
  ///
  /// - Complexity: O(pixels): about 0.1 ms for a tile of 256 pixels. An image with many colours is abandoned after its
  ///   first few hundred pixels.
  public static func from(_ pixels: PixelBuffer) -> PalettePixels? {
    let table = ColourIndex()
    let pixelCount = pixels.width * pixels.height
    var fits = true
    let indices = [UInt8](unsafeUninitializedCapacity: pixelCount) { buffer, count in
      guard let start = buffer.baseAddress, pixelCount > 0 else { return }
      fits = table.number(pixels.bytes, count: pixelCount, into: start)
      count = fits ? pixelCount : 0
    }
    guard fits else { return nil }
    let colours = Array(UnsafeBufferPointer(start: table.colours, count: table.count))
    return PalettePixels(width: pixels.width, height: pixels.height, colours: colours, indices: indices)
  }

  /// The original pixels.
  public func pixels() -> PixelBuffer {
    let pixels = PixelBuffer(width: width, height: height)
    colours.withUnsafeBufferPointer { colours in
      for (place, index) in indices.enumerated() {
        pixels.bytes.storeBytes(of: colours[Int(index)], toByteOffset: place &* 4, as: UInt32.self)
      }
    }
    return pixels
  }
}

/// A decoded tile in memory: with a palette if it has at most 256 colours, which is lossless and takes a quarter of the
/// memory.
public enum TilePicture: Sendable {
  /// Four bytes for each pixel.
  case pixels(PixelBuffer)
  /// One byte for each pixel.
  case palette(PalettePixels)

  /// The picture of a tile, with a palette if it has at most 256 colours. Takes one pass over the pixels.
  public init(_ pixels: PixelBuffer) {
    self = PalettePixels.from(pixels).map { .palette($0) } ?? .pixels(pixels)
  }

  /// The memory in bytes.
  public var byteCount: Int {
    switch self {
    case .pixels(let pixels): pixels.byteCount
    case .palette(let palette): palette.byteCount
    }
  }

  /// The pixels for drawing; they must not be changed. Pixels are returned as they are, a palette is expanded.
  public var pixels: PixelBuffer {
    switch self {
    case .pixels(let pixels): pixels
    case .palette(let palette): palette.pixels()
    }
  }
}
