/// MBTiles 1.3 knows global Mercator only. Bundles of other grids must not look like it (docs/bundle-format.md).
struct GridMarkRule: BundleRule {
  static let rule = VerificationRule(
    "grid-mark", .must, "a grid other than Web Mercator is named, and hidden from readers that know no other")
  private let bundle: VerifiedBundle

  init(_ bundle: VerifiedBundle) { self.bundle = bundle }

  mutating func begin(_ findings: inout Findings) throws {
    let schema = bundle.reader.schema
    guard bundle.matrixSet != .webMercatorQuad else {
      if schema.tiles != MBTilesSchema.mercatorView {
        findings.error(
          "the tiles are in \(schema.tiles) although the grid is Web Mercator",
          remedy: "call the view \(MBTilesSchema.mercatorView)")
      }
      return
    }
    let name = bundle.matrixSet.identifier
    if schema.tiles == MBTilesSchema.mercatorView {
      findings.error(
        "the grid is \(name), but readers will take \(schema.tiles) for Web Mercator",
        remedy: "call it \(MBTilesSchema.otherGridView)")
    }
    if bundle.metadata[MBTilesSchema.crsKey] != bundle.matrixSet.crs {
      findings.error(
        "\(MBTilesSchema.crsKey) is \(bundle.metadata[MBTilesSchema.crsKey] ?? "not given")",
        remedy: "set it to \(bundle.matrixSet.crs)")
    }
    if bundle.metadata.matrixSetName != bundle.matrixSet.uri {
      findings.error(
        "\(MBTilesSchema.matrixSetKey) is \(bundle.metadata.matrixSetName ?? "not given")",
        remedy: "set it to \(bundle.matrixSet.uri)")
    }
  }
}
