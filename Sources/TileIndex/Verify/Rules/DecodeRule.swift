import Support

/// Every tile can be decoded, and all have one size.
struct DecodeRule: BundleRule {
  static let rule = VerificationRule("decode", .must, "every tile decodes, is square and as large as the others")

  /// The result of decoding one blob.
  private enum Verdict {
    case sound
    case size(Int, Int)
    case broken(String)
  }

  private let decode: TileDecodeCheck
  private var size: (width: Int, height: Int)?
  /// Results by content hash, so that a repeated tile (open sea) is decoded once. Bounded, since most bundles repeat
  /// few tiles.
  private var known: [UInt64: Verdict] = [:]
  private static let knownMax = 1 << 16

  private let opaqueFormat: String?
  /// The edge that the rows `tileSize` and `scale` give.
  private let statedEdge: Int?

  init(_ bundle: VerifiedBundle) {
    (decode, opaqueFormat) = (bundle.decode, bundle.opaqueFormat)
    statedEdge = bundle.metadata.tileSize.map { $0 * bundle.metadata.tileScale }
  }

  mutating func end(_ coverage: TileCoverage, _ findings: inout Findings) throws {
    guard let opaqueFormat, coverage.count > 0 else { return }
    findings.warning(
      "tiles of the format \(opaqueFormat) are not decoded here", remedy: "look at some of them in a viewer")
  }

  mutating func visit(_ tile: VisitedTile, _ findings: inout Findings) throws {
    guard let format = tile.format, opaqueFormat == nil else { return }
    switch verdict(tile.data, format) {
    case .sound: break
    case .broken(let reason):
      findings.error("the tile does not decode: \(reason)", tile: tile.tile, remedy: "make the tile again")
    case .size(let width, let height):
      if width != height {
        findings.error(
          "the tile is \(width) x \(height) pixels, not square", tile: tile.tile, remedy: "make the tile again")
      }
      guard let size else {
        size = (width, height)
        if let statedEdge, statedEdge != width {
          findings.error(
            "the tile is \(width) x \(height) pixels, tileSize and scale say \(statedEdge)", tile: tile.tile,
            remedy: "set tileSize to \(width) and remove scale, or make the tiles again")
        }
        return
      }
      if size != (width, height) {
        findings.error(
          "the tile is \(width) x \(height) pixels, the first one \(size.width) x \(size.height)", tile: tile.tile,
          remedy: "make all tiles in one size")
      }
    }
  }

  private mutating func verdict(_ data: UnsafeRawBufferPointer, _ format: TileFormat) -> Verdict {
    // Outside MBTiles vector tiles may be stored as they are; there is no decoder for them.
    if format == .pbf, !Gunzip.isGzip(data) { return .sound }
    let hash = ContentHash.hash(data)
    if let verdict = known[hash] { return verdict }
    let verdict: Verdict
    do {
      verdict = try decode(data, format).map { .size($0.width, $0.height) } ?? .sound
    } catch {
      verdict = .broken("\(error)")
    }
    if known.count < Self.knownMax { known[hash] = verdict }
    return verdict
  }
}
