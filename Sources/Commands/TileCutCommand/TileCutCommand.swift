import ArgumentParser
import CommandSupport
import Foundation

/// `tilecut`: cuts raster maps into bundles, and looks at bundles.
@main
struct TileCutCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tilecut",
    abstract: "Cuts raster maps into tile bundles (MBTiles).",
    usage: """
      tilecut <subcommand>
      tilecut --version
      """,
    discussion: """
      Exit codes: 0 done; 1 verify found faults; 64 wrong usage; 65 an input is damaged, cannot be cut, or does not fit another; \
      66 an input cannot be read; 70 internal error; 73 the output exists already; 74 the output cannot be written; \
      75 a bundle is busy, try again; 129, 130 or 143 stopped by a signal.
      """,
    subcommands: [
      CutCommand.self, BuildCommand.self, ParcelsCommand.self, InspectCommand.self, VerifyCommand.self,
      PreviewCommand.self, ExtractCommand.self, MergeCommand.self, DiffCommand.self, ApplyCommand.self,
      PlacesCommand.self,
    ])

  static func main() {
    StandardStreams.reserve()
    CommandProcess(
      Self.self, status: { ExitStatus(of: $0)?.rawValue }, outputFailed: ExitStatus.outputFailed.rawValue
    ).run {
      // The parser's own --version would be one of every subcommand and answer for `cut --version 7`, which is the tileset's.
      if CommandLine.arguments.dropFirst() == ["--version"] { throw CleanExit.message(ToolVersion.text) }
      var command = try parseAsRoot()
      try command.run()
    }
  }
}
