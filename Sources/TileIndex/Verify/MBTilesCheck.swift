import Support

/// An opened bundle of one container: its rules, and how its tiles are walked.
protocol ContainerCheck {
  associatedtype Reader: BundleReader
  /// In the order of the report; the first one reports what is damaged.
  static var list: [ContainerRule<Self>] { get }
  var reader: Reader { get }
  var bundle: VerifiedBundle { get }
  /// Passes every tile to the closure, with the number of tiles that have these bytes at consecutive places.
  func forEachTile(_ coverage: inout TileCoverage, _ body: (VisitedTile, Int) throws -> Void) throws
}

/// A rule, and how it is made for a bundle.
struct ContainerRule<Check> {
  let rule: VerificationRule
  let make: (Check) -> any BundleRule

  init<Rule: BundleRule>(_ make: @escaping (Check) -> Rule) {
    rule = Rule.rule
    self.make = make
  }
}

extension ContainerCheck {
  static var rules: [VerificationRule] { list.map(\.rule) }

  /// In the order of ``rules``.
  func makeRules() -> [any BundleRule] { Self.list.map { $0.make(self) } }

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

  static var list: [ContainerRule<Self>] {
    [
      .init { DatabaseRule($0.reader) },
      .init { MetadataTableRule($0.reader) },
      .init { RequiredMetadataRule($0.bundle) },
      .init { TilesTableRule($0.reader) },
      .init { TileRangeRule($0.reader) },
      .init { UniqueTileRule($0.reader) },
      .init { OrphanRule($0.reader) },
      .init { BlobFormatRule($0.bundle) },
      .init { DecodeRule($0.bundle) },
      .init { TilesHashRule($0.reader) },
      .init { TileHashesRule($0.reader) },
      .init { ZoomRule($0.bundle) },
      .init { BoundsRule($0.bundle) },
      .init { CenterRule($0.bundle) },
      .init { DescriptiveMetadataRule($0.bundle) },
      .init { GridMarkRule($0.reader) },
      .init { ApplicationIDRule($0.reader) },
      .init { PlacesRule($0.reader) },
      .init { SideFileRule($0.reader) },
    ]
  }

  init(_ reader: MBTilesReader, decode: @escaping TileDecodeCheck) {
    self.reader = reader
    bundle = VerifiedBundle(reader, .mbtiles, decode: decode)
  }

  func forEachTile(_ coverage: inout TileCoverage, _ body: (VisitedTile, Int) throws -> Void) throws {
    try reader.forEachRow(ordered: true) { row in
      let tile = reader.tile(of: row)
      if let tile { coverage.insert(tile) }
      try body(VisitedTile(tile: tile, data: row.data, format: bundle.format(of: row.data), row: row), 1)
    }
  }
}
