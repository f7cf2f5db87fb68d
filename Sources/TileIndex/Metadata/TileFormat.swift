import Support

/// The encoding of tiles. The raw value is the name that MBTiles metadata use.
public enum TileFormat: String, Sendable, CaseIterable, Codable {
  /// PNG (ISO 15948).
  case png
  /// JPEG (ISO 10918-1).
  case jpg
  /// WebP (RFC 9649).
  case webp
  /// Vector tiles: protocol buffers, mostly compressed with gzip.
  case pbf
}

extension TileFormat {
  /// What a bundle says it is whose tiles have one or several formats: the one that shows all that they do.
  package init(stating formats: Set<TileFormat>) {
    self = [.png, .webp, .jpg, .pbf].first { formats.contains($0) } ?? .png
  }

  /// The format that the first bytes identify, or nil. A gzip stream counts as a vector tile, since MBTiles stores
  /// those compressed; ``init(tile:)`` looks into it.
  package init?(sniffing bytes: UnsafeRawBufferPointer) {
    func starts(_ prefix: [UInt8], at offset: Int = 0) -> Bool {
      bytes.count >= offset + prefix.count && bytes[offset..<(offset + prefix.count)].elementsEqual(prefix)
    }
    if starts([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) {
      self = .png
    } else if starts([0xff, 0xd8, 0xff]) {
      self = .jpg
    } else if starts(Array("RIFF".utf8)), starts(Array("WEBP".utf8), at: 8) {
      self = .webp
    } else if starts([0x1f, 0x8b]) || Self.isPlainVectorTile(bytes) {
      self = .pbf
    } else {
      return nil
    }
  }

  /// The format of a stored tile: as ``init(sniffing:)``, but nil for an image that was compressed with gzip, and for a
  /// vector tile that was compressed twice, which no reader of bundles expects.
  package init?(tile bytes: UnsafeRawBufferPointer) {
    self.init(sniffing: bytes)
    guard self == .pbf, Gunzip.isGzip(bytes) else { return }
    let head = Gunzip.head(bytes, byteCount: 16)
    let isUnexpected = head.withUnsafeBytes { head in
      Gunzip.isGzip(head) || TileFormat(sniffing: head).map { $0 != .pbf } ?? false
    }
    if isUnexpected { return nil }
  }

  /// True for a vector tile that is not compressed: a layer, its length and one of its fields (Mapbox Vector Tile 2.1,
  /// section 4.1).
  private static func isPlainVectorTile(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count > 3, bytes[0] == 0x1a else { return false }
    var (length, at) = (0, 1)
    while at < min(bytes.count, 6) {
      length |= Int(bytes[at] & 0x7f) << (7 * (at - 1))
      at += 1
      if bytes[at - 1] & 0x80 == 0 { break }
    }
    return at < bytes.count && length > 0 && at + length <= bytes.count
      && [0x0a, 0x12, 0x1a, 0x22, 0x28, 0x78].contains(bytes[at])
  }

  /// False for the beginning of an image without its end: a PNG without its last chunk, a JPEG without its end marker,
  /// a WebP that is shorter than it says. Vector tiles state no length.
  package func isWhole(_ bytes: UnsafeRawBufferPointer) -> Bool {
    switch self {
    case .png:
      // Length, type, content and check sum of each chunk.
      var at = 8
      while at + 12 <= bytes.count {
        let next = at + 12 + Int(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self)))
        if bytes[(at + 4)..<(at + 8)].elementsEqual("IEND".utf8) { return true }
        at = next
      }
      return false
    case .jpg:
      // Up to the first scan all segments have lengths; in scans FF D9 has no other meaning.
      var at = 2
      while at + 4 <= bytes.count, bytes[at] == 0xff, bytes[at + 1] != 0xda {
        at += 2 + (Int(bytes[at + 2]) << 8 | Int(bytes[at + 3]))
      }
      guard at + 4 <= bytes.count, bytes[at] == 0xff else { return false }
      return (at..<(bytes.count - 1)).contains { bytes[$0] == 0xff && bytes[$0 + 1] == 0xd9 }
    case .webp:
      guard bytes.count >= 12 else { return false }
      return Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))) + 8 <= bytes.count
    case .pbf: return true
    }
  }

  /// The format for a name found in metadata: the four of MBTiles, and others in use (`jpeg`, `.PNG`, `image/jpeg`,
  /// `png8`, `mvt`).
  package init?(lenient word: String) {
    var word = word.lowercased()
    if let slash = word.lastIndex(of: "/") { word = String(word[word.index(after: slash)...]) }
    word = String(word.drop { $0 == "." || $0 == " " }.prefix { $0 != ";" && $0 != " " })
    switch word {
    case "png", "png8", "png24", "png32", "png256": self = .png
    case "jpg", "jpeg", "jpg70", "jpg80", "jpg90": self = .jpg
    case "webp": self = .webp
    case "pbf", "mvt", "vnd.mapbox-vector-tile", "x-protobuf": self = .pbf
    default: return nil
    }
  }

  /// True for a media type, `type/subtype` with optional parameters (RFC 6838, section 4.2), which MBTiles 1.3 allows
  /// as format.
  static func isMediaType(_ word: String) -> Bool {
    let essence = word.prefix { $0 != ";" && $0 != " " }
    let parts = essence.split(separator: "/", omittingEmptySubsequences: false)
    return parts.count == 2
      && parts.allSatisfy { part in
        guard let first = part.first, first.isASCII, first.isLetter || first.isNumber else { return false }
        return part.utf8.count <= 127
          && part.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "!#$&-^_.+".contains($0)) }
      }
  }

  /// The media type for HTTP.
  public var mediaType: String {
    switch self {
    case .png: "image/png"
    case .jpg: "image/jpeg"
    case .webp: "image/webp"
    case .pbf: "application/vnd.mapbox-vector-tile"
    }
  }

  /// The usual file extension, without a dot.
  package var fileExtension: String { rawValue }
}

/// The size in pixels from an image's header, read without a codec.
package struct ImageHeader: Hashable, Sendable {
  /// The format of the image.
  package let format: TileFormat
  /// Pixels.
  package let width: Int
  /// Pixels.
  package let height: Int

  /// The pixels of the largest tile that is decoded: 4096 x 4096.
  package static let pixelCountMax = 1 << 24

  /// Nil when the bytes are not PNG, JPEG or WebP, or end before the size.
  package init?(_ bytes: UnsafeRawBufferPointer) {
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
      // The image data or the end of the file come before any frame header.
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
