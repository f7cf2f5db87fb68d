/// Tiles have the format that the metadata state, by which readers choose their decoder.
struct BlobFormatRule: BundleRule {
  static let rule = VerificationRule(
    "blob-format", .must, "every tile's first bytes are those of the format in the metadata")
  private let stated: TileFormat?
  private var first: TileFormat?

  init(_ bundle: VerifiedBundle) { stated = bundle.metadata.format }

  mutating func visit(_ tile: VisitedTile, _ findings: inout Findings) throws {
    guard !tile.row.data.isEmpty else { return }
    guard let format = tile.format else {
      findings.error(
        "the bytes are not PNG, JPEG, WebP or gzip", tile: tile.tile, remedy: "make the tile again, or delete its row")
      return
    }
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
}
