package import TileImage

/// A picture as an icon: 32-bit premultiplied pixels, as cairo has them.
package final class IconPicture: Sendable {
  let width: Int
  let height: Int
  /// Pixels for each of the icon's own.
  let scale: Double
  nonisolated(unsafe) let pixels: UnsafeMutablePointer<UInt32>

  /// A picture with all pixels transparent.
  init(width: Int, height: Int, scale: Double = 1) {
    (self.width, self.height, self.scale) = (width, height, scale)
    pixels = .allocate(capacity: width * height)
    pixels.update(repeating: 0, count: width * height)
  }

  package convenience init(_ buffer: PixelBuffer) {
    self.init(width: buffer.width, height: buffer.height)
    for i in 0..<(width * height) {
      let word = buffer.bytes.loadUnaligned(fromByteOffset: i * 4, as: UInt32.self)
      let alpha = word >> 24
      func share(_ shift: UInt32) -> UInt32 { ((word >> shift & 255) * alpha + 127) / 255 }
      pixels[i] = alpha << 24 | share(0) << 16 | share(8) << 8 | share(16)
    }
  }

  deinit { pixels.deallocate() }
}
