import TileCut

extension RasterSource {
  /// A window as RGBA words, red in the lowest byte, and whether the source calls it opaque.
  func words(_ window: PixelRect) throws -> (words: [UInt32], isOpaque: Bool) {
    var isOpaque = false
    // Rows with gaps between them, to detect a wrong row length.
    let rowWords = window.width + 3
    var padded = [UInt32](repeating: 0xdead_beef, count: rowWords * window.height)
    try padded.withUnsafeMutableBytes { bytes in
      isOpaque = try read(window, into: bytes.baseAddress!, rowBytes: rowWords * 4)
    }
    var result: [UInt32] = []
    for y in 0..<window.height {
      result += padded[y * rowWords..<y * rowWords + window.width]
      precondition(padded[y * rowWords + window.width..<(y + 1) * rowWords].allSatisfy { $0 == 0xdead_beef })
    }
    return (result, isOpaque)
  }

  /// The whole raster.
  func words() throws -> [UInt32] { try words(PixelRect(x: 0, y: 0, width: width, height: height)).words }
}

func rgba(_ r: Int, _ g: Int, _ b: Int, _ a: Int = 255) -> UInt32 {
  a == 0 ? 0 : UInt32(r) | UInt32(g) << 8 | UInt32(b) << 16 | UInt32(a) << 24
}

func grey(_ value: Int) -> UInt32 { rgba(value, value, value) }

/// A window of the pixels of a raster of the given width.
func crop(_ words: [UInt32], width: Int, _ window: PixelRect) -> [UInt32] {
  var result: [UInt32] = []
  for y in window.y..<window.y + window.height {
    let start = y * width + window.x
    result += words[start..<start + window.width]
  }
  return result
}
