extension PixelBuffer {
  /// Sets every pixel to one colour. A colour whose alpha is 0 counts as ``RGBA/transparent``.
  package func fill(_ colour: RGBA) {
    let word = colour.alpha == 0 ? 0 : colour.word
    for i in 0..<(width * height) {
      bytes.storeBytes(of: word, toByteOffset: i &* 4, as: UInt32.self)
    }
  }

  /// Makes this buffer equal to another of the same size.
  package func copy(from source: PixelBuffer) {
    precondition(source.width == width && source.height == height, "buffers of different sizes")
    bytes.copyMemory(from: source.bytes, byteCount: byteCount)
  }

  /// Replaces the rectangle at (x, y) by the source's pixels; what lies outside this buffer is left out.
  package func copy(_ source: PixelBuffer, x: Int, y: Int) {
    let left = max(x, 0)
    let right = min(x + source.width, width)
    guard left < right else { return }
    for row in max(y, 0)..<max(min(y + source.height, height), max(y, 0)) {
      (bytes + row * rowBytes + left * 4).copyMemory(
        from: source.bytes + (row - y) * source.rowBytes + (left - x) * 4, byteCount: (right - left) * 4)
    }
  }

  /// Composites every pixel over an opaque background, in place; afterwards the buffer is opaque.
  ///
  /// Channels are rounded to the nearest integer; opaque pixels keep their bytes. The background's alpha is ignored.
  package func composite(over background: RGBA) {
    let count = width * height
    let red = UInt32(background.red)
    let green = UInt32(background.green)
    let blue = UInt32(background.blue)
    let backdrop = background.word | 0xff00_0000
    for i in 0..<count {
      let pixel = bytes.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
      let alpha = pixel &>> 24
      if alpha == 255 { continue }
      var result = backdrop
      if alpha > 0 {
        let rest = 255 &- alpha
        let r = ((pixel & 255) &* alpha &+ red &* rest &+ 127) / 255
        let g = ((pixel &>> 8 & 255) &* alpha &+ green &* rest &+ 127) / 255
        let b = ((pixel &>> 16 & 255) &* alpha &+ blue &* rest &+ 127) / 255
        result = r | g &<< 8 | b &<< 16 | 0xff00_0000
      }
      bytes.storeBytes(of: result, toByteOffset: i &* 4, as: UInt32.self)
    }
  }
}

extension PixelBuffer {
  /// Zeroes the colours of pixels whose alpha is 0, as the buffer's form wants it; codecs do not.
  func clearTransparentPixels() { Self.clearTransparentPixels(bytes, count: width * height) }

  /// The same for `count` pixels anywhere.
  static func clearTransparentPixels(_ pixels: UnsafeMutableRawPointer, count: Int) {
    for i in 0..<count {
      let pixel = pixels.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
      pixels.storeBytes(of: pixel &>> 24 == 0 ? 0 : pixel, toByteOffset: i &* 4, as: UInt32.self)
    }
  }
}
