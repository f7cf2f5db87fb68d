import ArgumentParser
import CommandSupport
import Foundation

/// `purchase-ledger`: keeps our book of what app stores sold, and compares it with theirs.
@main
struct PurchaseLedgerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "purchase-ledger",
    abstract: "Verifies what app stores say, remembers who owns what, and reconciles the two.",
    discussion: """
      Every option that names the shop can also be given in the configuration file (--config, JSON) or in the environment: PURCHASE_LEDGER_BUNDLE_ID for \
      --bundle-id. Flags win over the environment, the environment over the file.

      Exit codes: 0 done, valid, or the books agree; 1 evidence was refused or quarantined, differences remain, or verify found damage; \
      2 an option is missing or an input cannot be read; 3 the ledger cannot be opened or written; 4 a store's API failed for good; \
      64 wrong usage; 70 internal error; 129, 130 or 143 interrupted, what was committed is kept.
      """,
    version: "0.1.0",
    subcommands: [
      InspectCommand.self, InitCommand.self, AccountCommand.self, ImportCommand.self, PullCommand.self,
      ReconcileCommand.self, DismissCommand.self, EntitlementsCommand.self, HistoryCommand.self, VerifyCommand.self,
      ExportCommand.self,
      RebuildCommand.self, DemoCommand.self,
    ])

  /// As `tileserve` does it: an asynchronous main would let Dispatch's threads take the signals.
  static func main() {
    StandardStreams.reserve()
    let signals = SignalWatch()
    // SQLite's file is whole at any instant: nothing has to be put away first.
    signals.whenStopped { [weak signals] in
      printError("purchase-ledger: interrupted; what was committed is kept")
      _exit(128 + (signals?.received ?? SIGINT))
    }
    let end = DispatchSemaphore(value: 0)
    Task.detached {
      await run()
      end.signal()
    }
    end.wait()
    _exit(StandardStreams.flush() ? 0 : ExitStatus.ledger.rawValue)
  }

  private static func run() async {
    do {
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch let error where ExitStatus(of: error) != nil {
      end(ExitStatus(of: error)!, "\(error)")
    } catch let error where exitCode(for: error) == .failure && !(error is ExitCode) {
      end(.internalError, "internal error: \(error)")
    } catch {
      exit(withError: error)
    }
  }

  private static func end(_ status: ExitStatus, _ message: String) -> Never {
    _ = StandardStreams.flush()
    printError("purchase-ledger: \(message)")
    Foundation.exit(status.rawValue)
  }
}
