import ArgumentParser
import CommandSupport
import TileCut
import TileIndex

/// `tilecut`: cuts raster maps into bundles, and looks at bundles.
@main
struct TileCutCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tilecut",
    abstract: "Cuts raster maps into tile bundles (MBTiles, PMTiles, GeoPackage, folders).",
    usage: """
      tilecut <subcommand>
      tilecut --version
      """,
    discussion: """
      Exit codes: 0 done; 1 verify found faults, or doctor problems; 64 wrong usage; 65 an input is damaged, cannot \
      be cut, or does not fit another; 66 an input cannot be read; 70 internal error; 71 the system lacks memory, a \
      library or its data; 73 the output exists already; 74 the output cannot be written; 75 a bundle is busy, try \
      again; 129, 130 or 143 stopped by a signal.
      """,
    subcommands: [
      CutCommand.self, PlanCommand.self, MissingCommand.self, BuildCommand.self, PacksCommand.self,
      MetadataCommand.self, InspectCommand.self, VerifyCommand.self, PreviewCommand.self, ExtractCommand.self,
      MergeCommand.self, ConvertCommand.self, TexturesCommand.self, DiffCommand.self, ApplyCommand.self,
      PlacesCommand.self, DoctorCommand.self,
    ])

  static func main() {
    StandardStreams.reserve()
    CommandProcess(
      Self.self, status: exitStatus, next: nextCommand,
      faults: { ($0 as? ManifestError)?.faults.map(\.description) }, outputFailed: .outputFailed
    ).run {
      // The parser's own --version would exist in every subcommand, and conflict with `cut --version 7`, the version
      // of the tileset.
      if CommandLine.words == ["--version"] { throw CleanExit.message(ToolVersion.text) }
      var command = try parseAsRoot(CommandLine.words)
      do {
        try command.run()
      } catch let error as BundleError where error.repair == .replace {
        throw BundleError(
          error.code, path: error.path, error.message, remedy: "choose another name, or replace it with --force")
      }
    }
  }
}
