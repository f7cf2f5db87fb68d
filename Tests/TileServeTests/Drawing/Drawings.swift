import TestSupport
import TileImage
import TileIndex
import TilePrefetch

@testable import TileServe

/// Small tile images, repeatable from a seed.
enum Drawings {
  /// Smooth hills in three colours with a little noise, opaque.
  static func hills(_ edge: Int = 64, seed: UInt64) -> PixelBuffer {
    var random = SeededGenerator(seed: seed)
    let phase = Int.random(in: 0..<97, using: &random)
    let pixels = PixelBuffer(width: edge, height: edge)
    for y in 0..<edge {
      for x in 0..<edge {
        func level(_ value: Int) -> UInt8 { UInt8(min(max(value, 0), 255)) }
        let noise = Int.random(in: -3...3, using: &random)
        let ridge = abs((x * 3 + y + phase) % 120 - 60) * 4
        pixels[x, y] = RGBA(red: level(ridge + noise), green: level(255 - ridge), blue: level(y * 255 / edge + noise))
      }
    }
    return pixels
  }

  /// The same with transparent and translucent parts.
  static func islands(_ edge: Int = 64, seed: UInt64) -> PixelBuffer {
    let pixels = hills(edge, seed: seed)
    for y in 0..<edge {
      for x in 0..<edge {
        let cell = (x / 9 + y / 7 + Int(seed)) % 5
        if cell == 0 { pixels[x, y] = .transparent }
        if cell == 1 { pixels[x, y].alpha = 120 }
      }
    }
    return pixels
  }

  static func uniform(_ colour: RGBA) -> PixelBuffer {
    let pixels = PixelBuffer(width: 64, height: 64)
    pixels.fill(colour)
    return pixels
  }
}

extension PixelBuffer {
  subscript(x: Int, y: Int) -> RGBA {
    get { RGBA(word: bytes.load(fromByteOffset: y * rowBytes + x * 4, as: UInt32.self)) }
    set {
      bytes.storeBytes(of: newValue.alpha == 0 ? 0 : newValue.word, toByteOffset: y * rowBytes + x * 4, as: UInt32.self)
    }
  }

  /// A tile's bytes.
  func encoded(_ format: TileFormat = .png) throws -> [UInt8] {
    switch format {
    case .jpg: try TileEncoder(.jpeg(JPEGOptions(quality: 95))).encode(self)
    case .webp: try TileEncoder(.webp(WebPOptions())).encode(self)
    case .png, .pbf: try TileEncoder(.png(PNGOptions())).encode(self)
    }
  }

  /// The rectangle at (x, y).
  func cut(x: Int, y: Int, width: Int, height: Int) -> PixelBuffer {
    let part = PixelBuffer(width: width, height: height)
    for row in 0..<height {
      for column in 0..<width { part[column, row] = self[x + column, y + row] }
    }
    return part
  }

  /// The first pixel that differs by more than a tolerance in a channel, or nil.
  func difference(from other: PixelBuffer, tolerance: Int = 0) -> String? {
    guard size == other.size else { return "\(width) x \(height) against \(other.width) x \(other.height)" }
    for y in 0..<height {
      for x in 0..<width {
        let (a, b) = (self[x, y], other[x, y])
        let differences = [
          Int(a.red) - Int(b.red), Int(a.green) - Int(b.green), Int(a.blue) - Int(b.blue), Int(a.alpha) - Int(b.alpha),
        ]
        if differences.contains(where: { abs($0) > tolerance }) { return "(\(x), \(y)): \(a) against \(b)" }
      }
    }
    return nil
  }

  var meanColour: SIMD3<Double> {
    var sum = SIMD3<Double>()
    for y in 0..<height {
      for x in 0..<width {
        let pixel = self[x, y]
        sum += SIMD3(Double(pixel.red), Double(pixel.green), Double(pixel.blue))
      }
    }
    return sum / Double(width * height)
  }
}

extension Tile {
  func decoded() throws -> PixelBuffer { try bytes.withUnsafeBytes { try ImageDecoder.decode($0, format: format) } }
}

extension TileAnswer {
  /// The tile, or nil when there is none.
  var tile: Tile? {
    if case .tile(let tile) = self { tile } else { nil }
  }
}

extension TileResolver {
  convenience init() { self.init(cache: DrawnTileCache(byteCountMax: 1 << 20)) }

  /// Asks for a tile of layers that all have one policy.
  func answer(
    _ layers: MemorySource..., tile: TileID, policy: MissingTilePolicy = .notFound, scale: Int = 1,
    format: TileFormat? = nil
  ) throws -> TileAnswer {
    try answer(
      TileQuery(
        layers: layers, policies: layers.map { _ in policy }, tile: tile, scale: scale, format: format))
  }
}
