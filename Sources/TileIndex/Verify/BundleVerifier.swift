/// Checks a bundle rule by rule, and decodes every tile: MBTiles against MBTiles 1.3, a PMTiles archive against PMTiles
/// v3, a GeoPackage against OGC 12-128r18, a folder against what its readers rely on.
///
/// 1. Check the file, its tables or directories, and the metadata.
/// 2. Walk all tiles once, in constant memory (an archive takes 8 bytes for each entry of its directories).
/// 3. Check the totals.
package struct BundleVerifier {
  private let path: String
  private let matrixSet: TileMatrixSet?
  private let decode: TileDecodeCheck

  /// The rules for MBTiles, in the order of the report.
  package static var rules: [VerificationRule] { rules(for: .mbtiles) }

  /// The rules for a container, in the order of the report.
  package static func rules(for container: BundleContainer) -> [VerificationRule] {
    switch container {
    case .mbtiles: MBTilesCheck.rules
    case .pmtiles: PMTilesCheck.rules
    case .geopackage: GeoPackageCheck.rules
    case .folder: TileFolderCheck.rules
    case .tileset: ShardedCheck.rules
    }
  }

  /// A check of a bundle, which is opened when the check runs.
  ///
  /// - Parameters:
  ///   - matrixSet: the grid of a bundle whose own is not a well-known one; otherwise its metadata name it.
  ///   - decode: decodes a tile completely; this module has no codec.
  package init(path: String, matrixSet: TileMatrixSet? = nil, decode: @escaping TileDecodeCheck) {
    self.path = path
    self.matrixSet = matrixSet
    self.decode = decode
  }

  /// Checks everything. A bundle that cannot be opened gives a report with one error of one rule.
  ///
  /// - Parameter progress: called with the number of tiles checked so far; throwing ends the check.
  /// - Complexity: O(bytes); every distinct blob is decoded once (beyond 65,536 of them, every time).
  /// - Throws: ``BundleError`` with `.notFound`, `.busy` or `.readFailed`, when the bundle cannot be checked at all.
  package func verify(progress: (Int) throws -> Void = { _ in }) throws -> VerificationReport {
    let kind = BundleFile.kind(path)
    let check: any ContainerCheck
    do {
      switch kind {
      case .mbtiles:
        check = MBTilesCheck(try MBTilesReader(path: path, matrixSet: matrixSet), decode: decode)
      case .pmtiles:
        check = try PMTilesCheck(PMTilesReader(path: path), decode: decode)
      case .geopackage:
        let name = GeoPackageName(path)
        check = GeoPackageCheck(
          try GeoPackageReader(path: name?.path ?? path, table: name?.table), decode: decode)
      case .folder:
        check = TileFolderCheck(try TileFolderReader(path: path, matrixSet: matrixSet), decode: decode)
      case .tileset:
        check = ShardedCheck(try ShardedReader(path: path), decode: decode)
      case nil:
        _ = try BundleFile.open(path)
        throw BundleError(.malformed, path: path, "is not a bundle", remedy: "name a bundle")
      }
    } catch let error as BundleError where error.code == .malformed {
      return unopened(error, by: Self.rules(for: kind ?? .mbtiles)[0])
    } catch let error as BundleError where error.code == .busy && SideFileRule.hasChanges(beside: path) {
      return unopened(error, by: SideFileRule.rule)
    }
    return try run(check, progress)
  }

  private func run(_ container: any ContainerCheck, _ progress: (Int) throws -> Void) throws -> VerificationReport {
    var checks = container.makeRules().map { Check(rule: $0, findings: Findings(rule: type(of: $0).rule)) }
    func each(_ body: (inout any BundleRule, inout Findings) throws -> Void) rethrows {
      for index in checks.indices { try checks[index].run(body) }
    }
    var coverage = TileCoverage()
    var tiles = 0
    do {
      try each { try $0.begin(&$1) }
      try container.forEachTile(&coverage) { visited, count in
        try each { try $0.visit(visited, &$1) }
        let before = tiles
        tiles += count
        if tiles / 256 > before / 256 { try progress(tiles) }
      }
      try each { try $0.end(coverage, &$1) }
    } catch let error as BundleError where error.code == .malformed {
      // The bundle is damaged inside. The findings so far are still valid.
      let shard = error.path.map { $0 == path ? "" : "\($0) " } ?? ""
      checks[0].findings.error("\(shard)\(error.message)", remedy: error.remedy ?? "make or copy the bundle again")
    }
    return VerificationReport(
      path: path, tileMatrixSet: container.matrixSet.identifier, tiles: tiles, findings: checks.map(\.findings))
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
    findings.error(error.message, remedy: error.remedy ?? "check that it is a bundle")
    return VerificationReport(path: path, tileMatrixSet: nil, tiles: 0, findings: [findings])
  }
}
