import ArgumentParser
import TileIndex

/// `tilecut apply`
struct ApplyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apply", abstract: "Makes the next edition of a bundle from a patch and the last one.",
    discussion: """
      The patch is refused on any other bundle than the one it was made for, and the result is compared with what the patch promises \
      before it gets its name. With --force OLD itself may be the output.
      """)

  @Argument(help: ArgumentHelp("What tilecut diff wrote.", valueName: "patch"))
  var patch: String
  @Argument(help: ArgumentHelp("The edition that the patch is for.", valueName: "old"))
  var old: String
  @Option(name: [.short, .long], help: "The bundle to write.")
  var output: String
  @Flag(help: "Replace the output if it exists.")
  var force = false
  @Flag(help: "Print JSON.")
  var json = false

  func run() throws {
    let summary = try stoppable { try BundlePatch.apply(patch, to: old, output: output, replacing: force) }
    guard !json else { return print(try prettyJSON(summary)) }
    let file = summary.resultSHA256.map { "the new edition's file, SHA-256 \($0)" } ?? "the new edition, tile for tile"
    print(
      "\(output): \(counted(summary.changedTiles, "new or changed tile")), \(summary.removedTiles) removed; \(file)")
  }
}
