import Support

/// The row `tiles_hash`, where there is one, is the hash of the tiles: bit rot changes tiles that still decode.
struct TilesHashRule: BundleRule {
  static let rule = VerificationRule(
    "tiles-hash", .practice, "the tiles are those that were written, as the hash in the metadata tells")
  /// One, or the shards of a tileset.
  private let forEachBundle: ((any BundleReader) throws -> Void) throws -> Void
  /// How messages name a bundle among several.
  private let name: (any BundleReader) -> String

  init(_ reader: any BundleReader) {
    (forEachBundle, name) = ({ try $0(reader) }, { _ in "" })
  }

  init(shardsOf reader: ShardedReader) {
    (forEachBundle, name) = (reader.forEachBundle, { "\(FileSystem.split($0.path).name): " })
  }

  /// Reads all tiles once more, in the order of the hash.
  mutating func end(_ coverage: TileCoverage, _ findings: inout Findings) throws {
    try forEachBundle { try check($0, &findings) }
  }

  private func check(_ reader: any BundleReader, _ findings: inout Findings) throws {
    guard let text = reader.metadata[MetadataKey.tilesHash] else { return }
    let name = name(reader)
    let remove = "remove the metadata row \(MetadataKey.tilesHash)"
    guard let stated = TilesHash(text) else {
      findings.error("\(name)tiles_hash \"\(text.prefix(80))\" is not a hash of 64 hexadecimal digits", remedy: remove)
      return
    }
    let found = try TilesHash.of(reader)
    guard found != stated else { return }
    findings.error(
      """
      \(name)the tiles are not those that were written: their hash is \(found), tiles_hash is \(stated). The file was damaged, \
      or another program changed it
      """,
      remedy: "if it is damaged, take it from a copy or make it again; if the change was meant: \(remove)")
  }
}

/// The table that has a hash of each tile, where there is one, tells which tiles are damaged.
struct TileHashesRule: BundleRule {
  static let rule = VerificationRule(
    "tile-hashes", .practice, "each tile is the one that was written, as the table of hashes tells")
  private let reader: any BundleReader
  private let storesHashes: Bool
  private var unknown = 0

  init(_ reader: any BundleReader) { (self.reader, storesHashes) = (reader, reader.storesTileHashes) }

  mutating func visit(_ visited: VisitedTile, _ findings: inout Findings) throws {
    guard storesHashes, let tile = visited.tile, !visited.data.isEmpty else { return }
    guard let stored = try reader.storedHash(of: tile) else {
      unknown += 1
      return
    }
    guard stored != ContentHash.hash(visited.data) else { return }
    findings.error(
      "its bytes are not those that were written", tile: tile, remedy: "take the bundle from a copy, or make it again")
  }

  mutating func end(_ coverage: TileCoverage, _ findings: inout Findings) throws {
    guard unknown > 0 else { return }
    findings.warning(
      "\(unknown) tiles have no hash: another program added them", remedy: "convert the bundle with hashes of its tiles"
    )
  }
}
