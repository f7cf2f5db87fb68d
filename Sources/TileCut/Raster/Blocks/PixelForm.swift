/// The layout of decoded pixels in memory: the most compact one that holds them, so that a cache of a given size holds
/// more of the raster. Rows follow each other without padding.
enum PixelForm: Sendable {
  /// One byte per pixel, an index into a table.
  case indexed(PixelTable)
  /// Three bytes per pixel, opaque.
  case rgb
  /// Four bytes per pixel, straight alpha, transparent pixels all zero.
  case rgba

  var bytesPerPixel: Int {
    switch self {
    case .indexed: 1
    case .rgb: 3
    case .rgba: 4
    }
  }

  /// ``expand(_:count:into:)`` may read this many bytes after the last pixel; whoever allocates pixels adds them.
  static let slackBytes = 16

  /// Converts a run of pixels to RGBA8.
  ///
  /// - Returns: true if every pixel of the run is opaque.
  func expand(_ source: UnsafeRawPointer, count: Int, into target: UnsafeMutableRawPointer) -> Bool {
    switch self {
    case .indexed(let table):
      Self.expandIndexed(source, count: count, table: table.words, into: target)
      return table.isOpaque || Self.isOpaque(target, count: count)
    case .rgb:
      Self.expandRGB(source, count: count, into: target)
      return true
    case .rgba:
      target.copyMemory(from: source, byteCount: count &* 4)
      return Self.isOpaque(source, count: count)
    }
  }

  private static func expandIndexed(
    _ source: UnsafeRawPointer, count: Int, table: UnsafePointer<UInt32>, into target: UnsafeMutableRawPointer
  ) {
    let indices = source.assumingMemoryBound(to: UInt8.self)
    let words = target.assumingMemoryBound(to: UInt32.self)
    var i = 0
    // Four look-ups, then four stores: the compiler cannot know that the table does not alias the target.
    while i &+ 4 <= count {
      let a = table[Int(indices[i])]
      let b = table[Int(indices[i &+ 1])]
      let c = table[Int(indices[i &+ 2])]
      let d = table[Int(indices[i &+ 3])]
      words[i] = a
      words[i &+ 1] = b
      words[i &+ 2] = c
      words[i &+ 3] = d
      i &+= 4
    }
    while i < count {
      words[i] = table[Int(indices[i])]
      i &+= 1
    }
  }

  private static func expandRGB(_ source: UnsafeRawPointer, count: Int, into target: UnsafeMutableRawPointer) {
    let words = target.assumingMemoryBound(to: UInt32.self)
    for i in 0..<count {
      // Reads one byte of the next pixel, or of the slack bytes.
      words[i] = source.loadUnaligned(fromByteOffset: i &* 3, as: UInt32.self) | 0xff00_0000
    }
  }

  /// Whether each of `count` RGBA pixels has alpha 255.
  static func isOpaque(_ pixels: UnsafeRawPointer, count: Int) -> Bool {
    var all = SIMD8<UInt32>(repeating: .max)
    var i = 0
    while i &+ 8 <= count {
      all &= pixels.loadUnaligned(fromByteOffset: i &* 4, as: SIMD8<UInt32>.self)
      i &+= 8
    }
    var rest = UInt32.max
    for lane in 0..<8 { rest &= all[lane] }
    while i < count {
      rest &= pixels.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
      i &+= 1
    }
    return rest >> 24 == 255
  }

  /// Converts RGBA words to this form; for ``indexed(_:)`` the pixels must be grey and the table ``PixelTable/grey``.
  func pack(_ words: UnsafePointer<UInt32>, count: Int, into target: UnsafeMutableRawPointer) {
    let bytes = target.assumingMemoryBound(to: UInt8.self)
    switch self {
    case .indexed:
      for i in 0..<count { bytes[i] = UInt8(truncatingIfNeeded: words[i]) }
    case .rgb:
      for i in 0..<count {
        bytes[i &* 3] = UInt8(truncatingIfNeeded: words[i])
        bytes[i &* 3 &+ 1] = UInt8(truncatingIfNeeded: words[i] >> 8)
        bytes[i &* 3 &+ 2] = UInt8(truncatingIfNeeded: words[i] >> 16)
      }
    case .rgba:
      target.copyMemory(from: words, byteCount: count &* 4)
    }
  }
}

/// The RGBA pixel of each of 256 stored values: a palette, a grey ramp or a scale, with nodata values transparent.
///
/// A word is a straight RGBA pixel in memory order, red in the lowest byte (little-endian).
final class PixelTable: @unchecked Sendable {
  /// 256 words, never changed after `init`.
  let words: UnsafePointer<UInt32>
  /// Every value is opaque.
  let isOpaque: Bool
  /// Some value is neither opaque nor transparent.
  let isSoft: Bool

  /// Transparent words become all zero, and values beyond `words` are transparent.
  init(_ words: [UInt32]) {
    let table = UnsafeMutablePointer<UInt32>.allocate(capacity: 256)
    for value in 0..<256 {
      let word = value < words.count ? words[value] : 0
      table[value] = word >> 24 == 0 ? 0 : word
    }
    self.words = UnsafePointer(table)
    isOpaque = (0..<min(256, words.count)).allSatisfy { table[$0] >> 24 == 255 }
    isSoft = (0..<256).contains { table[$0] >> 24 != 255 && table[$0] != 0 }
  }

  deinit { words.deallocate() }

  /// Grey levels, unchanged.
  static let grey = PixelTable((0..<256).map { PixelTable.grey(UInt8($0)) })
  /// A mask: zero is transparent, any other value is opaque.
  static let mask = PixelTable([0] + [UInt32](repeating: .max, count: 255))

  static func word(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) -> UInt32 {
    UInt32(red) | UInt32(green) << 8 | UInt32(blue) << 16 | UInt32(alpha) << 24
  }

  static func grey(_ value: UInt8) -> UInt32 { word(red: value, green: value, blue: value) }
}

/// Heights in the words of pixels, so that elevation models are read, masked, joined and cropped like pictures: 24 bits
/// of fixed point in place of the colours, opaque where there is a height.
///
/// Heights go from -32768 to 32767 units, in steps of 1/256; those beyond are clamped. What no ground has is a place
/// without a height, also where a model does not state it: -32768, which 16-bit models have for voids, and numbers
/// beyond a thousand million, such as the -3.4e38 of single precision.
enum HeightCode {
  private static let steps = 256.0
  private static let offset = 32768.0

  @inline(__always)
  static func word(_ height: Double) -> UInt32 {
    guard abs(height) < 1e9, height != -offset else { return 0 }
    let number = ((height + offset) * steps).rounded()
    return UInt32(max(0, min(16_777_215, number))) | 0xff00_0000
  }

  /// The height of a word; NaN where there is none.
  @inline(__always)
  static func height(_ word: UInt32) -> Float {
    word >> 24 == 0 ? .nan : Float(Int32(word & 0xff_ffff) - 8_388_608) * (1 / 256)
  }
}
