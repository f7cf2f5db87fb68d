import Support

/// The row `tiles_hash`, where there is one, is the hash of the tiles: bit rot changes tiles that still decode.
struct TilesHashRule: BundleRule {
  static let rule = VerificationRule(
    "tiles-hash", .practice, "the tiles are those that were written, as the hash in the metadata tells")
  private let reader: any BundleReader

  init(_ reader: any BundleReader) { self.reader = reader }

  /// Reads all tiles once more, in the order of the hash.
  mutating func end(_ coverage: TileCoverage, _ findings: inout Findings) throws {
    guard let text = reader.metadata[MetadataKey.tilesHash] else { return }
    let remove = "remove the metadata row \(MetadataKey.tilesHash)"
    guard let stated = TilesHash(text) else {
      findings.error("tiles_hash \"\(text.prefix(80))\" is not a hash of 64 hexadecimal digits", remedy: remove)
      return
    }
    let found = try TilesHash.of(reader)
    guard found != stated else { return }
    findings.error(
      """
      the tiles are not those that were written: their hash is \(found), tiles_hash is \(stated). The file was damaged, \
      or another program changed it
      """,
      remedy: "if it is damaged, take it from a copy or make it again; if the change was meant: \(remove)")
  }
}
