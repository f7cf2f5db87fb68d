import ArgumentParser
import CommandConfiguration
import CommandSupport
import MapStoreClient
import MapStoreServer
import PurchaseLedger
import StoreSimulators
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
    subcommands: [ServeCommand.self, QuickstartCommand.self, ClientCommand.self])

  static func main() {
    StandardStreams.reserve()
    // Before other threads start, because they must not receive the signals.
    _ = SignalWatch.process
    CommandProcess(
      Self.self, status: status, next: next, outputFailed: .internalError, configured: MapStoreSettings.schema.members
    ).runAsRoot()
  }

  /// The subcommand that does what the remedy of an error of the client's library says.
  private static func next(after error: any Error) -> String? {
    if let error = error as? FakeStoreFileError, error.repair == .makeKeys {
      return "mapstore client store-key NEW-FILE --bundle-id APP"
    }
    guard
      let repair = (error as? MapStoreError)?.repair,
      // The arguments are those of the command that failed, so they are valid.
      let flags = ((try? MapStoreCommand.parseAsRoot(CommandLine.words)) as? any DeviceCommand)?.flags
    else { return nil }
    return switch repair {
    case .signIn: flags.command("login LOGIN")
    case .listLibrary: flags.command("library")
    default: nil
    }
  }

  /// The exit code for an error of ours; nil for the argument parser's. docs/reference/exit-codes.md has the table.
  private static func status(of error: any Error) -> ExitStatus? {
    let isClient = CommandLine.words.first == "client"
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

/// `mapstore client`: a device on the command line, for people and tests.
struct ClientCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "client",
    abstract: "Acts as a device of a map store: signs in, buys, installs and updates regions.",
    discussion: """
      The folder (--folder) contains the installed bundles, REGION.mbtiles. Sign in once with --server, which is \
      stored in the folder. Interrupted downloads continue from the bytes on the disk: one with get, all with sync.

      Exit codes: 0 done; 1 not everything was done, as the output says; 2 --server is missing; 64 wrong usage; 65 the \
      server's data is damaged; 66 no such region or file; 69 the server cannot be reached; 70 internal error; 73 no \
      space on the disk or within --quota; 74 the folder cannot be written; 75 another process uses the folder; 76 the \
      server refused; 77 not signed in, or not owned; 129, 130 or 143 interrupted, what was downloaded is kept.
      """,
    subcommands: [
      RegisterCommand.self, LoginCommand.self, LogoutCommand.self, LibraryCommand.self, ListCommand.self,
      BuyCommand.self, GetCommand.self, AroundCommand.self, PauseCommand.self, RemoveCommand.self, SyncCommand.self,
      CheckCommand.self, StoreKeyCommand.self, RefundCommand.self,
    ])
}
