import Support

/// A tileset of shards: what holds for the tiles of all its bundles together.
struct ShardedCheck: ContainerCheck {
  let reader: ShardedReader
  let bundle: VerifiedBundle

  static var list: [ContainerRule<Self>] {
    [
      .init { BlobFormatRule($0.bundle) },
      .init { DecodeRule($0.bundle) },
      .init { TilesHashRule(shardsOf: $0.reader) },
      .init { ZoomRule($0.bundle) },
      .init { BoundsRule($0.bundle) },
      .init { CenterRule($0.bundle) },
      .init { DescriptiveMetadataRule($0.bundle) },
    ]
  }

  init(_ reader: ShardedReader, decode: @escaping TileDecodeCheck) {
    self.reader = reader
    bundle = VerifiedBundle(reader, .tileset, decode: decode)
  }
}
