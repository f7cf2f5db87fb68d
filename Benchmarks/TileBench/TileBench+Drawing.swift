import TileImage
import TileIndex

extension TileBench {
  /// What a server does beyond the deepest zoom: a quarter of each tile enlarged, opaque and with a transparent corner, and encoded.
  static func measureDrawing(_ tiles: [PixelBuffer]) throws {
    let count = Double(tiles.count)
    let quarter = Enlarge.Cell(index: 1, count: 2)
    let target = PixelBuffer(width: 256, height: 256)
    let flattened = tiles.map { copy(of: $0) { $0.composite(over: .white) } }
    let holed = flattened.map { tile in
      copy(of: tile) { for i in 0..<64 { $0.bytes.storeBytes(of: 0, toByteOffset: i * 4, as: UInt32.self) } }
    }
    report(
      "enlarge, opaque",
      best { for tile in flattened { Enlarge.draw(tile, column: quarter, row: quarter, into: target) } } / count)
    report(
      "enlarge, with alpha",
      best { for tile in holed { Enlarge.draw(tile, column: quarter, row: quarter, into: target) } } / count)
    let enlarged = flattened.map { tile in
      let result = PixelBuffer(width: 256, height: 256)
      Enlarge.draw(tile, column: quarter, row: quarter, into: result)
      return result
    }
    for (name, encoding) in encodings {
      var size = 0
      let time = try best {
        let encoder = TileEncoder(encoding)
        size = try enlarged.reduce(0) { $0 + (try encoder.encode($1)).count }
      }
      report("enlarged, \(name)", time / count, "\(size / tiles.count) bytes")
    }
  }

  private static var encodings: [(String, TileEncoding)] {
    [1, 2, 3, 4, 5].map { (level: Int) in ("PNG \(level)", .png(PNGOptions(compressionLevel: level))) } + [
      ("JPEG", .jpeg(JPEGOptions()))
    ]
      + [0, 1, 2, 4].map { ("WebP lossless \($0)", .webp(WebPOptions(effort: $0))) }
      + [0, 2, 4].map { ("WebP lossy \($0)", .webp(WebPOptions(lossless: false, effort: $0))) }
  }

  private static func copy(of pixels: PixelBuffer, change: (PixelBuffer) -> Void) -> PixelBuffer {
    let copy = PixelBuffer(width: pixels.width, height: pixels.height)
    copy.copy(from: pixels)
    change(copy)
    return copy
  }
}
