/// MBTiles 1.3, "Database": the application id by which file(1) knows the format.
struct ApplicationIDRule: BundleRule {
  static let rule = VerificationRule(
    "application-id", .should, "application_id is 0x4D504258 (MPBX), and 0 for other grids than Web Mercator")
  private let bundle: VerifiedBundle

  init(_ bundle: VerifiedBundle) { self.bundle = bundle }

  mutating func begin(_ findings: inout Findings) throws {
    let id = try bundle.reader.pragma("application_id")
    if !bundle.isMercator {
      guard id != 0 else { return }
      findings.error(
        "application_id is \(id), but the grid is not that of MBTiles", remedy: "PRAGMA application_id = 0")
    } else if id != MBTilesSchema.applicationID {
      let remedy = "PRAGMA application_id = \(MBTilesSchema.applicationID)"
      if id == 0 {
        findings.warning("application_id is not set", remedy: remedy)
      } else {
        findings.error("application_id is \(id), another program's", remedy: remedy)
      }
    }
  }
}
