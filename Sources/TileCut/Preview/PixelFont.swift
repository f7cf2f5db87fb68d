import TileImage

/// Letters of 3 x 5 pixels, for labels on contact sheets: enough to say which level a panel shows without a font library.
enum PixelFont {
  /// Five rows of three bits each, from the top, the leftmost pixel in the highest bit.
  private static let glyphs: [Character: [UInt8]] = [
    "0": [7, 5, 5, 5, 7], "1": [2, 6, 2, 2, 7], "2": [7, 1, 7, 4, 7], "3": [7, 1, 3, 1, 7], "4": [5, 5, 7, 1, 1],
    "5": [7, 4, 7, 1, 7], "6": [7, 4, 7, 5, 7], "7": [7, 1, 2, 2, 2], "8": [7, 5, 7, 5, 7], "9": [7, 5, 7, 1, 7],
    "z": [0, 7, 1, 4, 7], "o": [0, 7, 5, 5, 7], "m": [0, 7, 7, 5, 5], "t": [2, 7, 2, 2, 3], "i": [2, 0, 2, 2, 2],
    "l": [4, 4, 4, 4, 6], "e": [0, 7, 7, 4, 7], "s": [0, 7, 6, 3, 7], "x": [0, 5, 2, 2, 5],
  ]

  /// Width of a text in pixels.
  static func width(of text: String, scale: Int) -> Int { 4 * scale * text.count }

  /// Draws text in dark grey, its top left corner at (x, y); characters it does not have leave a gap.
  static func draw(_ text: String, on buffer: PixelBuffer, x: Int, y: Int, scale: Int) {
    var left = x
    for character in text {
      for (row, bits) in (glyphs[character] ?? []).enumerated() {
        for column in 0..<3 where bits >> (2 - column) & 1 == 1 {
          fill(buffer, x: left + column * scale, y: y + row * scale, edge: scale)
        }
      }
      left += 4 * scale
    }
  }

  private static func fill(_ buffer: PixelBuffer, x: Int, y: Int, edge: Int) {
    for row in max(y, 0)..<min(y + edge, buffer.height) {
      for column in max(x, 0)..<min(x + edge, buffer.width) {
        buffer.bytes.storeBytes(of: 0xff40_4040, toByteOffset: (row * buffer.width + column) * 4, as: UInt32.self)
      }
    }
  }
}
