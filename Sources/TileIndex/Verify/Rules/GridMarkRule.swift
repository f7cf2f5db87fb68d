/// MBTiles 1.3 has only global Mercator. Bundles of other grids must not look like it
/// (docs/reference/bundle-format.md).
struct GridMarkRule: BundleRule {
  static let rule = VerificationRule(
    "grid-mark", .must, "a grid other than Web Mercator is named, and hidden from readers that know no other")
  private let bundle: MBTilesReader

  init(_ reader: MBTilesReader) { bundle = reader }

  mutating func begin(_ findings: inout Findings) throws {
    let schema = bundle.schema
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
    if bundle.metadata[MetadataKey.crs] != bundle.matrixSet.crs {
      findings.error(
        "\(MetadataKey.crs) is \(bundle.metadata[MetadataKey.crs] ?? "not given")",
        remedy: "set it to \(bundle.matrixSet.crs)")
    }
    if bundle.metadata.matrixSetName != bundle.matrixSet.uri {
      findings.error(
        "\(MetadataKey.matrixSet) is \(bundle.metadata.matrixSetName ?? "not given")",
        remedy: "set it to \(bundle.matrixSet.uri)")
    }
  }
}

/// MBTiles 1.3, "Database": the application id by which file(1) recognises the format.
struct ApplicationIDRule: BundleRule {
  static let rule = VerificationRule(
    "application-id", .practice,
    "application_id is 0x4D504258 (MPBX) or not set, and 0 for other grids than Web Mercator")
  private let bundle: MBTilesReader

  init(_ reader: MBTilesReader) { bundle = reader }

  mutating func begin(_ findings: inout Findings) throws {
    let id = try bundle.pragma("application_id")
    // Only these are bundles as MBTiles specifies them.
    let isMercator = bundle.matrixSet == .webMercatorQuad && bundle.schema.tiles == MBTilesSchema.mercatorView
    if !isMercator {
      guard id != 0 else { return }
      findings.error(
        "application_id is \(id), but the grid is not that of MBTiles", remedy: "PRAGMA application_id = 0")
    } else if id != MBTilesSchema.applicationID, id != 0 {
      // MBTiles 1.3 says that it MAY be set, and few tools set it.
      findings.warning(
        "application_id is \(id), another program's", remedy: "PRAGMA application_id = \(MBTilesSchema.applicationID)")
    }
  }
}
