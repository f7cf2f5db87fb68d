import ArgumentParser
import CommandConfiguration
import CommandSupport
import LibC
import PurchaseLedger
import Support

/// `purchase-ledger`: records what app stores sold, and reconciles it with their records.
@main
struct PurchaseLedgerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "purchase-ledger",
    abstract: "Verifies app stores' evidence, records who owns what, and reconciles the ledger with the stores.",
    discussion: """
      Options about ledger and app can also be given in the configuration file (--config, JSON: bundleId for \
      --bundle-id) or in the environment: PURCHASE_LEDGER_BUNDLE_ID. Flags win over the environment, the environment \
      over the file.

      Exit codes: 0 done, valid, or store and ledger agree; 1 evidence was refused or quarantined, differences remain, \
      verify found damage, or status or queue something to do; 2 an option is missing or an input cannot be read; 3 \
      the ledger cannot be opened or written; 4 a store's API failed permanently; 64 wrong usage; 70 internal error; \
      129, 130 or 143 interrupted, what was committed is kept.
      """,
    version: "0.1.0",
    subcommands: [
      InspectEvidenceCommand.self, InitCommand.self, PolicyCommand.self, AccountCommand.self, ImportCommand.self,
      PullCommand.self,
      ReconcileCommand.self, DismissCommand.self, StatusCommand.self, QueueCommand.self, EntitlementsCommand.self,
      HistoryCommand.self, OrderCommand.self, AnswerCommand.self, ReviewersCommand.self,
      VerifyLedgerCommand.self, ExportCommand.self, MergeLedgerCommand.self, BackupCommand.self, RebuildCommand.self,
      DemoCommand.self,
    ])

  static func main() {
    StandardStreams.reserve()
    let signals = SignalWatch()
    // SQLite's file is consistent at any instant, so only other unfinished files are removed.
    signals.whenStopped { [weak signals] in
      AtomicFile.abandonAll {
        printError("purchase-ledger: interrupted; what was committed is kept")
        _exit(128 + (signals?.received ?? SIGINT))
      }
    }
    let process = CommandProcess(
      Self.self, status: status, next: option, outputFailed: .ledger, configured: LedgerSettings.schema.members)
    withExtendedLifetime(signals) { process.runAsRoot() }
  }

  /// The exit code for an error of ours; nil for the argument parser's. docs/reference/exit-codes.md has the table.
  private static func status(of error: any Error) -> ExitStatus? {
    if error is ConfigurationError || error is VerificationError { return .unusableOption }
    guard let error = error as? LedgerError else { return nil }
    return switch error.code {
    case .configuration, .input, .exists, .account, .loginTaken, .wrongPassword, .busy: .unusableOption
    case .store, .notInStore, .storeRefusal, .storeQuota: .appStore
    default: .ledger
    }
  }

  /// How a missing setting is given; nil for other errors.
  private static func option(for error: any Error) -> String? {
    guard let setting = (error as? LedgerError)?.missing else { return nil }
    let (option, member): (String?, String) =
      switch setting {
      case .rootCertificates: ("--root-certificate", "rootCertificates")
      case .bundleID: ("--bundle-id", "bundleId")
      case .appAppleID: (nil, "appAppleId")
      case .googlePublicKey: (nil, "googlePublicKey")
      case .packageName: (nil, "packageName")
      }
    return (option.map { "\($0), or " } ?? "") + "\(member) in the configuration file"
  }
}
