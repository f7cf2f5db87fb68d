/// MBTiles 1.3, "Metadata": the place and zoom that a viewer opens with.
struct CenterRule: BundleRule {
  static let rule = VerificationRule("center", .should, "center is longitude,latitude,zoom inside bounds and zooms")
  private let metadata: StoredMetadata

  init(_ bundle: VerifiedBundle) { metadata = bundle.metadata }

  mutating func end(_ coverage: TileCoverage, _ findings: inout Findings) throws {
    guard let text = metadata["center"] else {
      findings.warning("center is not given", remedy: "add the middle of the bounds and a zoom that shows them")
      return
    }
    guard let center = metadata.center else {
      findings.error("center \"\(text)\" is not three numbers with commas", remedy: "write longitude,latitude,zoom")
      return
    }
    if let bounds = metadata.bounds {
      let slack = 1e-6
      let isInside =
        center.longitude >= bounds.west - slack && center.longitude <= bounds.east + slack
        && center.latitude >= bounds.south - slack && center.latitude <= bounds.north + slack
      if !isInside { findings.error("center \"\(text)\" lies outside the bounds", remedy: "move it inside") }
    }
    if let zooms = coverage.zooms, !zooms.contains(center.zoom) {
      findings.error(
        "center's zoom \(center.zoom) has no tiles", remedy: "choose one of \(zooms.lowerBound) to \(zooms.upperBound)")
    }
  }
}
