public import TileImage
public import TileIndex

/// Small tiles, repeatable from a seed.
public enum SampleTiles {
  /// A frame and its inside in two colours that depend on the seed. Opaque, unless it is hollow.
  public static func picture(_ seed: Int, edge: Int = 256, hollow: Bool = false) -> PixelBuffer {
    let pixels = PixelBuffer(width: edge, height: edge)
    let colour = UInt32(truncatingIfNeeded: 0x20_4060 &+ seed &* 0x1d_3357) & 0xff_ffff
    pixels.fill(RGBA(word: 0xff00_0000 | colour))
    let margin = edge / 8
    for y in margin..<(edge - margin) {
      for x in margin..<(edge - margin) {
        pixels.bytes.storeBytes(
          of: hollow ? 0 : 0xff00_0000 | ~colour & 0xff_ffff, toByteOffset: y * pixels.rowBytes + x * 4, as: UInt32.self
        )
      }
    }
    return pixels
  }

  /// A tile's bytes.
  public static func image(_ seed: Int, _ format: TileFormat = .png, edge: Int = 256, hollow: Bool = false) throws
    -> [UInt8]
  {
    let pixels = picture(seed, edge: edge, hollow: hollow)
    return switch format {
    case .jpg: try TileEncoder(.jpeg(JPEGOptions(quality: 90))).encode(pixels)
    case .webp: try TileEncoder(.webp(WebPOptions())).encode(pixels)
    case .png, .pbf: try TileEncoder(.png(PNGOptions())).encode(pixels)
    }
  }

  /// A zlib stream (RFC 1950) of the uncompressed bytes.
  public static func zlib(_ bytes: [UInt8]) -> [UInt8] {
    var (a, b): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
      a = (a + UInt32(byte)) % 65_521
      b = (b + a) % 65_521
    }
    return [0x78, 0x01] + stored(bytes) + little(b << 16 | a, 4).reversed()
  }

  /// The bytes in one stored block of deflate (RFC 1951, section 3.2.4).
  private static func stored(_ bytes: [UInt8]) -> [UInt8] {
    precondition(bytes.count < 65_536, "one stored block")
    let count = UInt32(bytes.count)
    return [1] + little(count, 2) + little(~count, 2) + bytes
  }

  private static func little(_ value: UInt32, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  /// A gzip stream (RFC 1952) of the uncompressed bytes.
  public static func gzip(_ bytes: [UInt8]) -> [UInt8] {
    var crc: UInt32 = .max
    for byte in bytes {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1 == 1 ? 0xedb8_8320 : 0) }
    }
    return [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff] + stored(bytes) + little(~crc, 4) + little(UInt32(bytes.count), 4)
  }
}
