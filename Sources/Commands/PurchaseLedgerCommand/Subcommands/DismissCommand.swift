import ArgumentParser
import CommandSupport
import PurchaseLedger
import Support

/// `purchase-ledger dismiss`
struct DismissCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dismiss", abstract: "Lists quarantined evidence, and dismisses pieces of it.",
    discussion: """
      The bytes stay, and an event records the reason. Evidence that is imported again is verified again. Answers \
      without a final result leave quarantine only by dismissal.
      """)

  @Argument(help: ArgumentHelp("The first digits of its hash, as reconcile and --list print them.", valueName: "hash"))
  var hashes: [String] = []
  @Flag(help: "List what is in quarantine.")
  var list = false
  @Option(help: ArgumentHelp("Why, for the history; required to dismiss.", valueName: "text"))
  var because: String?
  @OptionGroup var options: CommonOptions

  func validate() throws {
    if list != hashes.isEmpty { throw ValidationError("give the hashes of evidence, or --list") }
    if !list, because?.isEmpty ?? true {
      throw ValidationError("--because is required: the history records the reason")
    }
  }

  func run() async throws {
    let settings = try LedgerSettings(options)
    let ledger = list ? try settings.openLedgerToRead() : try settings.openLedger()
    defer { ledger.close() }
    let pieces =
      list ? try ledger.quarantined() : try hashes.map { try dismiss($0, in: ledger) }
    for piece in pieces {
      if options.json {
        printLine(
          JSONValue.fields([
            ("evidence", .string(Hexadecimal.text(piece.sha256))), ("reason", .string(piece.reason)),
            ("receivedAt", .string(TimeText.rfc3339(piece.receivedAt))), ("dismissed", .bool(!list)),
          ]).text)
      } else {
        let hash = Hexadecimal.text(piece.sha256)
        printLine(list ? "\(hash)  \(TimeText.rfc3339(piece.receivedAt))  \(piece.reason)" : "dismissed \(hash)")
      }
    }
  }

  private func dismiss(_ hash: String, in ledger: Ledger) throws -> Ledger.Quarantined {
    do {
      return try ledger.dismissEvidence(hash, because: because ?? "")
    } catch let error as LedgerError where error.code == .input {
      throw LedgerError(error.code, at: error.path, error.message, remedy: error.remedy.map { "\($0) (--list)" })
    }
  }
}
