/// What a tile's bytes are. The raw value is the word that MBTiles metadata uses for it.
public enum TileFormat: String, Sendable, CaseIterable, Codable {
  case png
  case jpg
  case webp
  case pbf
}

extension TileFormat {
  /// The format that a blob's first bytes announce; nil when they announce none. A gzip stream counts as a vector tile, which MBTiles stores that way.
  public init?(sniffing bytes: UnsafeRawBufferPointer) {
    func starts(_ prefix: [UInt8], at offset: Int = 0) -> Bool {
      bytes.count >= offset + prefix.count && bytes[offset..<(offset + prefix.count)].elementsEqual(prefix)
    }
    if starts([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) {
      self = .png
    } else if starts([0xff, 0xd8, 0xff]) {
      self = .jpg
    } else if starts(Array("RIFF".utf8)), starts(Array("WEBP".utf8), at: 8) {
      self = .webp
    } else if starts([0x1f, 0x8b]) {
      self = .pbf
    } else {
      return nil
    }
  }

  /// The format of a word found in metadata: the four of MBTiles, and what else is seen in the wild (`jpeg`, `.PNG`, `image/jpeg`, `png8`, `mvt`).
  public init?(lenient word: String) {
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

  /// The media type that HTTP gives it.
  public var mediaType: String {
    switch self {
    case .png: "image/png"
    case .jpg: "image/jpeg"
    case .webp: "image/webp"
    case .pbf: "application/vnd.mapbox-vector-tile"
    }
  }

  /// The usual file extension, without a dot.
  public var fileExtension: String { rawValue }
}
