/// The size in pixels that an image's header states, read without a codec.
public struct ImageHeader: Hashable, Sendable {
  public let format: TileFormat
  public let width: Int
  public let height: Int

  /// Nil when the bytes are no PNG, JPEG or WebP, or end before the size.
  public init?(_ bytes: UnsafeRawBufferPointer) {
    guard let format = TileFormat(sniffing: bytes) else { return nil }
    let size: (width: Int, height: Int)?
    switch format {
    case .png: size = Self.png(bytes)
    case .jpg: size = Self.jpeg(bytes)
    case .webp: size = Self.webp(bytes)
    case .pbf: size = nil
    }
    guard let size, size.width > 0, size.height > 0 else { return nil }
    (self.format, width, height) = (format, size.width, size.height)
  }

  /// PNG (ISO/IEC 15948), 11.2.2: IHDR is the first chunk.
  private static func png(_ bytes: UnsafeRawBufferPointer) -> (Int, Int)? {
    guard bytes.count >= 24, bytes[12..<16].elementsEqual("IHDR".utf8) else { return nil }
    return (big(bytes, 16, 4), big(bytes, 20, 4))
  }

  /// JPEG (ITU-T T.81), annex B: the frame header is the first of the markers C0 to CF, without C4, C8 and CC.
  private static func jpeg(_ bytes: UnsafeRawBufferPointer) -> (Int, Int)? {
    var offset = 2
    while offset + 4 <= bytes.count {
      guard bytes[offset] == 0xff else { return nil }
      let marker = bytes[offset + 1]
      if marker == 0xff {  // fill byte
        offset += 1
        continue
      }
      if marker == 0x01 || (0xd0...0xd7).contains(marker) {  // markers without a segment
        offset += 2
        continue
      }
      // The entropy-coded data or the end come before any frame header.
      if marker == 0xda || marker == 0xd9 { return nil }
      if (0xc0...0xcf).contains(marker), marker != 0xc4, marker != 0xc8, marker != 0xcc {
        guard offset + 9 <= bytes.count else { return nil }
        return (big(bytes, offset + 7, 2), big(bytes, offset + 5, 2))
      }
      offset += 2 + max(2, big(bytes, offset + 2, 2))
    }
    return nil
  }

  /// WebP (RFC 9649), 2.5 to 2.7: a simple lossy or lossless file, or the extended header.
  private static func webp(_ bytes: UnsafeRawBufferPointer) -> (Int, Int)? {
    guard bytes.count >= 30 else { return nil }
    let kind = bytes[12..<16]
    if kind.elementsEqual("VP8 ".utf8) {
      guard bytes[23] == 0x9d, bytes[24] == 0x01, bytes[25] == 0x2a else { return nil }
      return (little(bytes, 26, 2) & 0x3fff, little(bytes, 28, 2) & 0x3fff)
    }
    if kind.elementsEqual("VP8L".utf8) {
      guard bytes[20] == 0x2f else { return nil }
      let bits = little(bytes, 21, 4)
      return (1 + (bits & 0x3fff), 1 + (bits >> 14 & 0x3fff))
    }
    if kind.elementsEqual("VP8X".utf8) { return (1 + little(bytes, 24, 3), 1 + little(bytes, 27, 3)) }
    return nil
  }

  private static func big(_ bytes: UnsafeRawBufferPointer, _ offset: Int, _ count: Int) -> Int {
    (0..<count).reduce(0) { $0 << 8 | Int(bytes[offset + $1]) }
  }

  private static func little(_ bytes: UnsafeRawBufferPointer, _ offset: Int, _ count: Int) -> Int {
    (0..<count).reversed().reduce(0) { $0 << 8 | Int(bytes[offset + $1]) }
  }
}
