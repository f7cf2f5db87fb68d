import Support

/// A tileset of shards: what holds for the tiles of all its bundles together.
struct ShardedCheck: ContainerCheck {
  let reader: ShardedReader
  let bundle: VerifiedBundle

  static var rules: [VerificationRule] {
    [
      BlobFormatRule.rule, DecodeRule.rule, ZoomRule.rule, BoundsRule.rule, CenterRule.rule,
      DescriptiveMetadataRule.rule,
    ]
  }

  init(_ reader: ShardedReader, decode: @escaping TileDecodeCheck) {
    self.reader = reader
    bundle = VerifiedBundle(reader, .tileset, decode: decode)
  }

  func makeRules() -> [any BundleRule] {
    [
      BlobFormatRule(bundle), DecodeRule(bundle), ZoomRule(bundle), BoundsRule(bundle), CenterRule(bundle),
      DescriptiveMetadataRule(bundle),
    ]
  }
}
