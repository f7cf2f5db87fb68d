package import TileImage
package import TileIndex

/// How the tiles of a bundle are encoded, so that new ones are like them.
extension TileEncoding {
  /// The encoding of a bundle: what its metadata say, else what its tiles show. Of JPEG the quality can be seen, of
  /// WebP whether it is lossless; nil for vector tiles.
  package init?(of bundle: any BundleReader) throws {
    guard let format = try bundle.tileFormat(), var encoding = TileEncoding(bundle.metadata.mixedFormats, or: format)
    else { return nil }
    let allowed = encoding.formats
    if let text = bundle.metadata[TileEncodingRow.key], let own = TileEncoding(optionText: text),
      own.formats == allowed
    {
      self = own
      return
    }
    let traits = try EncodingTraits(of: bundle)
    if allowed == [.webp], traits.isLossy { encoding = encoding.changingQuality(to: JPEGOptions().quality) }
    if allowed.contains(.jpg), let quality = traits.jpegQuality { encoding = encoding.changingQuality(to: quality) }
    self = encoding
  }

  /// The usual encoding of a mixture, or of a single format.
  private init?(_ mixture: Set<TileFormat>, or format: TileFormat) {
    switch mixture.count > 1 ? mixture : [format] {
    case [.png]: self.init(.png)
    case [.jpg]: self.init(.jpeg)
    case [.webp]: self.init(.webp)
    case [.jpg, .webp]: self.init(.jpegAndWebP)
    case [.webp, .png]: self.init(.webPAndPNG)
    case let formats where formats.count > 1: self.init(.auto)
    default: return nil
    }
  }

  // MARK: - As options

  /// The encoding as the options of `tilecut cut` after `--format`: `png --colors 16`; nil where they cannot say it.
  var optionText: String? {
    func shape(_ encoding: TileEncoding) -> TileEncoding {
      encoding.changingQuality(to: 1).changingPNG { _ in PNGOptions() }
    }
    guard let name = Name.allCases.first(where: { shape(TileEncoding($0)) == shape(self) }) else { return nil }
    var (words, same) = ([name.rawValue], TileEncoding(name))
    if let quality, quality != same.quality {
      words += ["--quality", "\(quality)"]
      same = same.changingQuality(to: quality)
    }
    if let png {
      if let colours = png.colours { words += ["--colors", "\(colours)"] }
      if png.effort != PNGOptions().effort { words += ["--effort", png.effort.rawValue] }
      same = same.changingPNG { _ in PNGOptions(effort: png.effort, colours: png.colours) }
    }
    return same == self ? words.joined(separator: " ") : nil
  }

  /// Nil for a text that no ``optionText`` is.
  init?(optionText: String) {
    let words = ["--format"] + optionText.split(separator: " ").map(String.init)
    guard words.count.isMultiple(of: 2) else { return nil }
    var texts: [String: [String]] = [:]
    for index in stride(from: 0, to: words.count, by: 2) {
      texts[String(words[index].dropFirst(2))] = [words[index + 1]]
    }
    guard Set(texts.keys).isSubset(of: CutSetting.encodingNames) else { return nil }
    var options = CutOptions(sources: [])
    guard (try? options.take(texts)) != nil else { return nil }
    self = options.encoding
  }

  /// Of the lossy tiles; nil if there are none.
  private var quality: Int? {
    switch self {
    case .png: nil
    case .jpeg(let jpeg): jpeg.quality
    case .webp(let webp): webp.lossless ? nil : webp.quality
    case .mixed(let opaque, let other): opaque.quality ?? other.quality
    }
  }

  private var png: PNGOptions? {
    switch self {
    case .png(let png): png
    case .jpeg, .webp: nil
    case .mixed(let opaque, let other): opaque.png ?? other.png
    }
  }
}

/// What the first tiles of a bundle show of their encoding.
private struct EncodingTraits {
  /// Whether some WebP tile is lossy.
  private(set) var isLossy = false
  /// Of the first JPEG tile.
  private(set) var jpegQuality: Int?

  private static let tilesMax = 64

  init(of bundle: any BundleReader) throws {
    struct Enough: Error {}
    var count = 0
    do {
      try bundle.forEachTile { _, bytes in
        switch TileFormat(sniffing: bytes) {
        case .webp: isLossy = isLossy || Self.isLossyWebP(bytes)
        case .jpg: jpegQuality = jpegQuality ?? Self.quality(ofJPEG: Array(bytes))
        case .png, .pbf, nil: break
        }
        count += 1
        if count == Self.tilesMax { throw Enough() }
      }
    } catch is Enough {}
  }

  /// Whether a still WebP picture has a lossy chunk (RFC 9649, section 2.5).
  private static func isLossyWebP(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var place = 12
    while place + 8 <= bytes.count {
      if bytes[place..<place + 4].elementsEqual("VP8 ".utf8) { return true }
      let size = bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self).littleEndian
      place += 8 + Int(size) + Int(size & 1)
    }
    return false
  }

  /// libjpeg's quality whose quantisation of brightness is nearest; nil for a file without such a table.
  private static func quality(ofJPEG bytes: [UInt8]) -> Int? {
    guard let table = quantisation(bytes) else { return nil }
    func distance(_ other: [UInt8]) -> Int { zip(table, other).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) } }
    return tables.min { distance($0.table) < distance($1.table) }?.quality
  }

  /// The tables of all qualities. Among equal ones the usual quality comes first.
  private static let tables: [(quality: Int, table: [UInt8])] = {
    let usual = JPEGOptions().quality
    return ([usual] + (1...100).filter { $0 != usual }).compactMap { quality in
      let bytes = try? TileEncoder(.jpeg(JPEGOptions(quality: quality))).encode(PixelBuffer(width: 8, height: 8))
      return bytes.flatMap(quantisation).map { (quality, $0) }
    }
  }()

  /// The first table of 8 bits (ITU T.81, B.2.4.1), in zigzag order.
  private static func quantisation(_ bytes: [UInt8]) -> [UInt8]? {
    var place = 2
    while place + 4 < bytes.count, bytes[place] == 0xff, bytes[place + 1] != 0xda {
      let size = Int(bytes[place + 2]) << 8 | Int(bytes[place + 3])
      if bytes[place + 1] == 0xdb, bytes[place + 4] == 0, size >= 67, place + 5 + 64 <= bytes.count {
        return Array(bytes[place + 5..<place + 5 + 64])
      }
      place += 2 + size
    }
    return nil
  }
}
