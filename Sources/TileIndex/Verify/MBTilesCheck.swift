import Support

/// An opened bundle of one container: its rules, and how its tiles are walked.
protocol ContainerCheck {
  associatedtype Reader: BundleReader
  /// The first one reports what is damaged.
  static var rules: [VerificationRule] { get }
  var reader: Reader { get }
  var bundle: VerifiedBundle { get }
  /// The rules, in the order of ``rules``.
  func makeRules() -> [any BundleRule]
  /// Passes every tile to the closure, with the number of tiles that have these bytes at consecutive places.
  func forEachTile(_ coverage: inout TileCoverage, _ body: (VisitedTile, Int) throws -> Void) throws
}

extension ContainerCheck {
  var matrixSet: TileMatrixSet { reader.matrixSet }

  /// One by one, through the reader.
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

/// MBTiles 1.3.
struct MBTilesCheck: ContainerCheck {
  let reader: MBTilesReader
  let bundle: VerifiedBundle

  static var rules: [VerificationRule] {
    [
      DatabaseRule.rule, MetadataTableRule.rule, RequiredMetadataRule.rule, TilesTableRule.rule, TileRangeRule.rule,
      UniqueTileRule.rule, OrphanRule.rule, BlobFormatRule.rule, DecodeRule.rule, ZoomRule.rule, BoundsRule.rule,
      CenterRule.rule, DescriptiveMetadataRule.rule, GridMarkRule.rule, ApplicationIDRule.rule, PlacesRule.rule,
      SideFileRule.rule,
    ]
  }

  init(_ reader: MBTilesReader, decode: @escaping TileDecodeCheck) {
    self.reader = reader
    bundle = VerifiedBundle(reader, .mbtiles, decode: decode)
  }

  func makeRules() -> [any BundleRule] {
    [
      DatabaseRule(reader), MetadataTableRule(reader), RequiredMetadataRule(bundle), TilesTableRule(reader),
      TileRangeRule(reader), UniqueTileRule(reader), OrphanRule(reader), BlobFormatRule(bundle), DecodeRule(bundle),
      ZoomRule(bundle), BoundsRule(bundle), CenterRule(bundle), DescriptiveMetadataRule(bundle), GridMarkRule(reader),
      ApplicationIDRule(reader), PlacesRule(reader), SideFileRule(reader),
    ]
  }

  func forEachTile(_ coverage: inout TileCoverage, _ body: (VisitedTile, Int) throws -> Void) throws {
    try reader.forEachRow(ordered: true) { row in
      let tile = reader.tile(of: row)
      if let tile { coverage.insert(tile) }
      try body(VisitedTile(tile: tile, data: row.data, format: bundle.format(of: row.data), row: row), 1)
    }
  }
}
