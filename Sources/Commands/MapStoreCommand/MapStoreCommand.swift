import ArgumentParser
import CommandSupport
import Foundation

/// `mapstore`: the shop, and a client of it.
@main
struct MapStoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mapstore",
    abstract: "Sells regions from a shelf: catalogue, accounts, purchases, downloads.",
    discussion: """
      Exit codes: 0 done, or ended by a signal after all requests were answered; 2 an option, the configuration file or a file that it names cannot be used; \
      3 the ledger cannot be opened; 64 wrong usage; 69 the address cannot be listened on; 70 internal error.
      """,
    version: "0.1.0",
    subcommands: [ServeCommand.self, ClientCommand.self])

  static func main() {
    StandardStreams.reserve()
    _ = CommandSignals.watch
    CommandProcess(Self.self, status: status, outputFailed: ExitStatus.internalError.rawValue).runAsRoot()
  }

  /// The status for an error of ours; the client's table is in its help.
  private static func status(of error: any Error) -> Int32? {
    let isClient = CommandLine.arguments.dropFirst().first == "client"
    return (isClient ? ClientExitStatus.status(of: error) : nil) ?? ExitStatus(of: error)?.rawValue
  }
}
