/// What each of 256 stored values looks like: a palette, a grey ramp, a scale, with nodata values transparent.
///
/// A word is a straight RGBA pixel in memory order, red in the lowest byte on the little-endian machines this runs on.
final class PixelTable: @unchecked Sendable {
  /// 256 words, never changed after `init`.
  let words: UnsafePointer<UInt32>
  /// Every value is opaque.
  let isOpaque: Bool
  /// Some value is neither opaque nor transparent.
  let isSoft: Bool

  /// Makes the table; transparent words become all zero, and values beyond `words` are transparent.
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

  static func word(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) -> UInt32 {
    UInt32(red) | UInt32(green) << 8 | UInt32(blue) << 16 | UInt32(alpha) << 24
  }

  static func grey(_ value: UInt8) -> UInt32 { word(red: value, green: value, blue: value) }
}

extension PixelTable {
  /// Grey levels as they are.
  static let grey = PixelTable((0..<256).map { PixelTable.grey(UInt8($0)) })
}
