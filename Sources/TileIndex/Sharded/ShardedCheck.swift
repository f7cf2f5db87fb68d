import Support

/// A tileset of shards: what holds for the tiles of all its bundles together.
struct ShardedCheck: ContainerCheck {
  private let reader: ShardedReader
  private let bundle: VerifiedBundle
  var matrixSet: TileMatrixSet { reader.matrixSet }

  static var rules: [VerificationRule] {
    [
      BlobFormatRule.rule, DecodeRule.rule, ZoomRule.rule, BoundsRule.rule, CenterRule.rule,
      DescriptiveMetadataRule.rule,
    ]
  }

  init(_ reader: ShardedReader, decode: @escaping TileDecoder) {
    self.reader = reader
    bundle = VerifiedBundle(reader, .tileset, decode: decode)
  }

  func makeRules() -> [any BundleRule] {
    [
      BlobFormatRule(bundle), DecodeRule(bundle), ZoomRule(bundle), BoundsRule(bundle), CenterRule(bundle),
      DescriptiveMetadataRule(bundle),
    ]
  }

  func forEachTile(_ coverage: inout TileCoverage, _ body: (VisitedTile, Int) throws -> Void) throws {
    // Taken out, because the closure below may not use the parameter while it is changed.
    var found = coverage
    try reader.forEachTile { tile, bytes in
      found.insert(tile)
      try body(VisitedTile(tile: tile, data: bytes, format: bundle.format(of: bytes)), 1)
    }
    coverage = found
  }
}
