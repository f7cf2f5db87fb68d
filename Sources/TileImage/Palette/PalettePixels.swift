/// A picture with at most 256 colours, a byte a pixel: a quarter of the memory of a ``PixelBuffer``, and nothing lost.
///
/// Neither can be changed, so it may be shared.
public final class PalettePixels: Sendable {
  public let width: Int
  public let height: Int
  /// Straight RGBA8 as little-endian words, in the order in which the colours first appear.
  public let colours: [UInt32]
  /// Row-major, a place in ``colours`` for each pixel.
  public let indices: [UInt8]

  /// What the picture takes: a byte a pixel and four a colour.
  public var byteCount: Int { indices.count + colours.count * 4 }

  private init(width: Int, height: Int, colours: [UInt32], indices: [UInt8]) {
    self.width = width
    self.height = height
    self.colours = colours
    self.indices = indices
  }

  /// Nil when the picture has more than 256 colours.
  ///
  /// - Complexity: O(pixels): about 0.1 ms for a tile of 256; a picture with many colours is left after its first few hundred pixels.
  public static func from(_ pixels: PixelBuffer) -> PalettePixels? {
    let table = ColourTable()
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

  /// The picture as it was.
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
