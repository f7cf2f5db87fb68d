/// Checks a bundle against MBTiles 1.3, rule by rule, and decodes every tile.
///
/// 1. Check the file, its tables and metadata.
/// 2. Walk all tiles once, in constant memory.
/// 3. Check the totals.
public struct BundleVerifier {
  private let path: String
  private let matrixSet: TileMatrixSet?
  private let decode: TileDecoder

  /// All rules in the order of the report.
  public static var rules: [VerificationRule] { all.map { $0.rule } }

  private static var all: [any BundleRule.Type] {
    [
      DatabaseRule.self, MetadataTableRule.self, RequiredMetadataRule.self, TilesTableRule.self, TileRangeRule.self,
      UniqueTileRule.self, OrphanRule.self, BlobFormatRule.self, DecodeRule.self, ZoomRule.self, BoundsRule.self,
      CenterRule.self, DescriptiveMetadataRule.self, GridMarkRule.self, ApplicationIDRule.self, PlacesRule.self,
      SideFileRule.self,
    ]
  }

  /// - Parameters:
  ///   - matrixSet: the grid of a bundle whose own is not a well-known one; otherwise its metadata name it.
  ///   - decode: decodes a tile completely; this module has no codec.
  public init(path: String, matrixSet: TileMatrixSet? = nil, decode: @escaping TileDecoder) {
    self.path = path
    self.matrixSet = matrixSet
    self.decode = decode
  }

  /// Checks everything. A bundle that cannot be opened gives a report with one error of one rule.
  ///
  /// - Parameter progress: called with the number of tiles checked so far; throwing ends the check.
  /// - Complexity: O(bytes); every distinct blob is decoded once (beyond 65,536 of them, every time).
  /// - Throws: ``BundleError`` with `.notFound`, `.busy` or `.readFailed`, when the bundle cannot be checked at all.
  public func verify(progress: (Int) throws -> Void = { _ in }) throws -> VerificationReport {
    let reader: MBTilesReader
    do {
      reader = try MBTilesReader(path: path, matrixSet: matrixSet)
    } catch let error as BundleError where error.code == .malformed {
      return unopened(error, by: DatabaseRule.rule)
    } catch let error as BundleError where error.code == .busy && SideFileRule.hasChanges(beside: path) {
      return unopened(error, by: SideFileRule.rule)
    }
    let bundle = VerifiedBundle(reader: reader, decode: decode)
    var checks = Self.all.map { Check(rule: $0.init(bundle), findings: Findings(rule: $0.rule)) }
    func each(_ body: (inout any BundleRule, inout Findings) throws -> Void) rethrows {
      for index in checks.indices { try checks[index].run(body) }
    }
    var coverage = TileCoverage()
    var tiles = 0
    do {
      try each { try $0.begin(&$1) }
      try reader.forEachRow(ordered: true) { row in
        let visited = VisitedTile(
          row: row, tile: reader.tile(of: row), format: TileFormat(sniffing: row.data))
        if let tile = visited.tile { coverage.insert(tile) }
        try each { try $0.visit(visited, &$1) }
        tiles += 1
        if tiles % 256 == 0 { try progress(tiles) }
      }
      try each { try $0.end(coverage, &$1) }
    } catch let error as BundleError where error.code == .malformed {
      // The database is damaged inside. The findings so far are still valid.
      checks[0].findings.error("\(error.message)", remedy: error.remedy ?? "make or copy the bundle again")
    }
    return VerificationReport(
      path: path, tileMatrixSet: reader.matrixSet.identifier, tiles: tiles, findings: checks.map(\.findings))
  }

  /// A rule and what it has found so far.
  private struct Check {
    var rule: any BundleRule
    var findings: Findings

    mutating func run(_ body: (inout any BundleRule, inout Findings) throws -> Void) rethrows {
      try body(&rule, &findings)
    }
  }

  private func unopened(_ error: BundleError, by rule: VerificationRule) -> VerificationReport {
    var findings = Findings(rule: rule)
    findings.error(error.message, remedy: error.remedy ?? "check that it is an MBTiles bundle")
    return VerificationReport(path: path, tileMatrixSet: nil, tiles: 0, findings: [findings])
  }
}
