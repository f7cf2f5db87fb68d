/// Tiles have the format that the metadata state, by which readers choose their decoder.
struct BlobFormatRule: BundleRule {
  static let rule = VerificationRule(
    "blob-format", .must, "every tile's first bytes are those of a format in the metadata")
  private let stated: TileFormat?
  /// The formats of a bundle that mixes them; a tile of any of them is right.
  private let mixed: Set<TileFormat>
  /// A media type that MBTiles allows and nothing here decodes.
  private let opaque: String?
  private var first: TileFormat?
  /// A table of a GeoPackage may have PNG and JPEG tiles (OGC 12-128r18, requirements 36 and 37).
  private let mixes: Bool

  init(_ bundle: VerifiedBundle) {
    (stated, opaque) = (bundle.metadata.format, bundle.opaqueFormat)
    mixed = bundle.metadata.mixedFormats
    mixes = bundle.container == .geopackage
  }

  mutating func begin(_ findings: inout Findings) throws {
    if let stated, !mixed.isEmpty, !mixed.contains(stated) {
      findings.error(
        "format is \(stated.rawValue), which is not among formats", remedy: "set format to one of those that tiles have"
      )
    }
  }

  mutating func visit(_ tile: VisitedTile, _ findings: inout Findings) throws {
    guard !tile.data.isEmpty else { return }
    if let opaque { return checkOpaque(tile, opaque, &findings) }
    guard let format = tile.format else {
      findings.error(
        Gunzip.isGzip(tile.data)
          ? "the bytes are an image in gzip, or a vector tile that was compressed twice"
          : "the bytes are not PNG, JPEG, WebP or gzip",
        tile: tile.tile, remedy: "make the tile again, or delete its row")
      return
    }
    if mixed.contains(format) { return }
    if mixes, [.png, .jpg].contains(format), [.png, .jpg, nil].contains(stated) { return }
    if let stated, format != stated {
      findings.error(
        "the bytes are \(format.rawValue), the metadata say \(stated.rawValue)", tile: tile.tile,
        remedy: "set format to what the tiles are, or make the tile again")
    } else if stated == nil, let first, format != first {
      findings.error(
        "the bytes are \(format.rawValue), those of the first tile \(first.rawValue)", tile: tile.tile,
        remedy: "make all tiles in one format")
    }
    if first == nil { first = format }
  }

  /// Bytes of an unknown format may be anything but an image of another one. A gzip stream may hold any format.
  private func checkOpaque(_ tile: VisitedTile, _ format: String, _ findings: inout Findings) {
    var found = tile.format.flatMap { $0 == .pbf ? nil : $0.rawValue }
    // AV1 Image File Format 1.1, section 6: an ISO base media file, which begins with its type box.
    if found == nil, format.hasSuffix("avif"), !(tile.data.count > 12 && tile.data[4..<8].elementsEqual("ftyp".utf8)) {
      found = "no AVIF"
    }
    guard let found else { return }
    findings.error(
      "the bytes are \(found), the metadata say \(format)", tile: tile.tile,
      remedy: "set format to what the tiles are, or make the tile again")
  }
}
