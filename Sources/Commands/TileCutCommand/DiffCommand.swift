import ArgumentParser
import TileIndex

/// `tilecut diff`
struct DiffCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Writes the patch that leads from one edition of a bundle to the next.",
    discussion: """
      A patch holds new and changed tiles, the names of removed ones, and changed metadata and places. It is applied once for trial \
      before it gets its name.
      """)

  @Argument(help: ArgumentHelp("The edition that customers have: MBTiles, PMTiles, or a folder.", valueName: "old"))
  var old: String
  @Argument(help: ArgumentHelp("The edition that they shall have.", valueName: "new"))
  var new: String
  @Option(name: [.short, .long], help: "The patch to write.")
  var output: String
  @Flag(help: "Replace the output if it exists.")
  var force = false
  @Flag(help: "Print JSON.")
  var json = false

  func run() throws {
    let summary = try stoppable { try BundlePatch.diff(old: old, new: new, output: output, replacing: force) }
    print(json ? try prettyJSON(summary) : Self.line(summary, output: output, new: new))
  }

  private static func line(_ summary: BundlePatch.Summary, output: String, new: String) -> String {
    let whole = "leads to \(new) \(summary.resultSHA256 == nil ? "tile for tile" : "byte for byte")"
    return
      "\(output): \(counted(summary.changedTiles, "new or changed tile")), \(summary.removedTiles) removed, "
      + "\(formatted(bytes: summary.patchBytes)), \(whole)"
  }
}
