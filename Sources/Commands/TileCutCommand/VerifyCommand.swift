import ArgumentParser
import CommandSupport
import TileImage
import TileIndex

/// `tilecut verify`
struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Checks a bundle rule by rule (MBTiles 1.3, PMTiles v3, GeoPackage 1.3), and decodes every tile.",
    discussion: """
      Exits with 1 when a rule is broken. Warnings alone do not count as broken. --json lists the rules that hold, too.
      """)

  @Argument(
    help: ArgumentHelp("A bundle of any maker: MBTiles, PMTiles, GeoPackage, or a folder.", valueName: "bundle"),
    completion: .file())
  var bundle: String
  @Flag(help: "Print JSON.")
  var json = false
  @OptionGroup var progress: ProgressOption

  func run() throws {
    let verifier = BundleVerifier(path: bundle) { try ImageDecoder.check($0, format: $1) }
    let reader = try? BundleFile.open(bundle)
    if let reader { warnOfMissingIndex(reader) }
    let report = try progress.showing(of: reader?.knownTileCount) { shown in
      try verifier.verify(progress: shown)
    }
    if json { printText(try prettyJSON(report)) } else { Self.lines(report).forEach(printLine) }
    if !report.isValid { throw ExitCode(.found) }
  }

  private static func lines(_ report: VerificationReport) -> [String] {
    var lines: [String] = []
    for outcome in report.outcomes {
      for finding in outcome.findings {
        let tile = finding.tile.map { "tile \($0): " } ?? ""
        lines.append(
          "\(finding.severity == .error ? "error  " : "warning")  \(tile)\(finding.message); \(finding.remedy)")
      }
      let more = outcome.errors + outcome.warnings - outcome.findings.count
      if more > 0 { lines.append("         and \(more) more of this kind") }
    }
    let verdict =
      report.isValid
      ? "valid: \(report.outcomes.count) rules hold" : "not valid: \(counted(report.errors, "error"))"
    let warnings = report.warnings > 0 ? ", \(counted(report.warnings, "warning"))" : ""
    lines.append("\(report.path): \(verdict)\(warnings), \(counted(report.tiles, "tile")) checked")
    return lines
  }
}
