/// MBTiles 1.3, "Metadata": minzoom and maxzoom.
struct ZoomRule: BundleRule {
  static let rule = VerificationRule(
    "zooms", .should, "minzoom and maxzoom are the smallest and largest zoom with tiles")
  private let metadata: StoredMetadata

  init(_ bundle: VerifiedBundle) { metadata = bundle.metadata }

  mutating func end(_ coverage: TileCoverage, _ findings: inout Findings) throws {
    guard let zooms = coverage.zooms else {
      findings.error("the bundle has no tiles", remedy: "make it again, and see what the cut says")
      return
    }
    for (name, stated, real) in [
      ("minzoom", metadata.minZoom, zooms.lowerBound), ("maxzoom", metadata.maxZoom, zooms.upperBound),
    ] {
      let remedy = "set \(name) to \(real)"
      if metadata[name] == nil {
        findings.warning("\(name) is not given", remedy: remedy)
      } else if stated != real {
        findings.error("\(name) is \(metadata[name] ?? ""), but the tiles' is \(real)", remedy: remedy)
      }
    }
  }
}
