import ArgumentParser
import CommandSupport
import TileIndex

/// `tilecut diff`
struct DiffCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Writes the patch that leads from one edition of a bundle to the next.",
    discussion: """
      A patch holds new and changed tiles, the names of removed ones, and changed metadata and places. It is applied \
      once for trial \
      before it gets its name.
      """)

  @Argument(
    help: ArgumentHelp("The edition that customers have: MBTiles, PMTiles, GeoPackage, or a folder.", valueName: "old"),
    completion: .file())
  var old: String
  @Argument(help: ArgumentHelp("The new edition.", valueName: "new"), completion: .file())
  var new: String
  @Option(name: [.short, .long], help: "The patch to write.", completion: .file())
  var output: String
  @OptionGroup var options: OutputOptions

  func run() throws {
    let (oldCount, newCount) = (knownTileCount(of: old), knownTileCount(of: new))
    let tilesToRead = oldCount.flatMap { old in newCount.map { 2 * old + 3 * $0 } }
    let summary = try options.writing(of: tilesToRead) {
      try BundlePatch.diff(old: old, new: new, output: output, replacing: options.force, progress: $0)
    }
    for warning in summary.leftOut.warnings(output) { printError("tilecut: warning: \(warning)") }
    if options.json { return printText(try prettyJSON(summary)) }
    printLine(Self.line(summary, output: output, new: new))
  }

  private static func line(_ summary: BundlePatch.Summary, output: String, new: String) -> String {
    let whole = "leads to \(new) \(summary.resultSHA256 == nil ? "tile for tile" : "byte for byte")"
    return
      "\(output): \(counted(summary.changedTiles, "new or changed tile")), \(summary.removedTiles) removed, "
      + "\(formatted(bytes: summary.patchBytes)), \(whole)"
  }
}

/// `tilecut apply`
struct ApplyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apply", abstract: "Makes the next edition of a bundle from a patch and the last one.",
    discussion: """
      The patch is refused on any other bundle than the one it was made for, and the result is compared with what the \
      patch promises \
      before it gets its name. With --force OLD itself may be the output.
      """)

  @Argument(help: ArgumentHelp("What tilecut diff wrote.", valueName: "patch"), completion: .file())
  var patch: String
  @Argument(help: ArgumentHelp("The edition that the patch is for.", valueName: "old"), completion: .file())
  var old: String
  @Option(name: [.short, .long], help: "The bundle to write, MBTiles.", completion: .file())
  var output: String
  @OptionGroup var options: OutputOptions

  func run() throws {
    // Few editions have many more tiles than the last.
    let tileCount = knownTileCount(of: old)
    let summary = try options.writing(of: tileCount) {
      try BundlePatch.apply(patch, to: old, output: output, replacing: options.force, progress: $0)
    }
    guard !options.json else { return printText(try prettyJSON(summary)) }
    let file = summary.resultSHA256.map { "the new edition's file, SHA-256 \($0)" } ?? "the new edition, tile for tile"
    printLine(
      "\(output): \(counted(summary.changedTiles, "new or changed tile")), \(summary.removedTiles) removed; \(file)")
  }
}
