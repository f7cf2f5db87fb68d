import ArgumentParser
import CommandConfiguration
import CommandSupport
import MapStoreClient
import MapStoreServer
import PurchaseLedger
import TileIndex

/// `mapstore`: the map store's service, and a client of it.
@main
struct MapStoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mapstore",
    abstract: "Sells the regions of a catalogue: accounts, purchases, downloads.",
    discussion: """
      Exit codes: 0 done, or ended by a signal after all requests were answered; 2 an option, the configuration file \
      or a file that it names cannot be used; 3 the ledger cannot be opened; 64 wrong usage; 69 the address cannot be \
      listened on; 70 internal error.
      """,
    version: "0.1.0",
    subcommands: [ServeCommand.self, ClientCommand.self])

  static func main() {
    StandardStreams.reserve()
    // Before other threads start, because they must not receive the signals.
    _ = SignalWatch.process
    CommandProcess(Self.self, status: status, next: next, outputFailed: .internalError).runAsRoot()
  }

  /// The subcommand that does what the remedy of an error of the client's library says.
  private static func next(after error: any Error) -> String? {
    if error is FakeStoreFileError { return "mapstore client store-key NEW-FILE" }
    return switch (error as? MapStoreError)?.repair {
    case .signIn?: "mapstore client login LOGIN"
    case .listLibrary?: "mapstore client library"
    default: nil
    }
  }

  /// The exit code for an error of ours; nil for the argument parser's. docs/reference/exit-codes.md has the table.
  private static func status(of error: any Error) -> ExitStatus? {
    let isClient = CommandLine.arguments.dropFirst().first == "client"
    if isClient, let status = ExitStatus(ofClient: error) { return status }
    return switch error {
    case is ConfigurationError: .unusableOption
    case let error as StoreError: error.code == .cannotListen ? .unavailable : .unusableOption
    case is VerificationError: .unusableOption
    case let error as LedgerError: [.configuration, .input].contains(error.code) ? .unusableOption : .ledger
    case is BundleError: .unusableOption
    default: nil
    }
  }
}
