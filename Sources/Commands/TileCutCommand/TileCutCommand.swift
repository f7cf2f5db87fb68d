import ArgumentParser
import Foundation

/// `tilecut`: cuts raster maps into bundles, and looks at bundles.
@main
struct TileCutCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tilecut",
    abstract: "Cuts raster maps into tile bundles (MBTiles).",
    discussion: """
      Exit codes: 0 done; 1 verify found faults; 64 wrong usage; 65 an input is damaged or cannot be cut; \
      66 an input cannot be read; 70 internal error; 73 the output exists already; 74 the output cannot be written; \
      75 a bundle is busy, try again; 130 or 143 stopped by a signal.
      """,
    version: "0.1.0",
    subcommands: [CutCommand.self, InspectCommand.self, VerifyCommand.self, ContactSheetCommand.self])

  static func main() {
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch let error where ExitStatus(of: error) != nil {
      let status = ExitStatus(of: error)!
      FileHandle.standardError.write(Data("tilecut: \(error)\n".utf8))
      Foundation.exit(status.rawValue)
    } catch {
      // Usage errors, --help and --version are the argument parser's own.
      exit(withError: error)
    }
  }
}
