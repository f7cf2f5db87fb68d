public import ArgumentParser
import CommandSupport
public import PurchaseLedger
import Support

/// `purchase-ledger pull`
struct PullCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pull",
    abstract: "Fetches a store's records for reconcile; records no events.",
    discussion: """
      Keys are in the configuration file, under apple (issuerId, keyId, privateKey) and google (serviceAccount, or \
      accessTokenFile). An interrupted pull continues where it stopped.

      Examples:
        purchase-ledger pull --store apple --config ledger.json
        purchase-ledger pull --store google --acknowledge --config ledger.json
      """)

  @OptionGroup(title: "Questions") var scope: Scope
  @OptionGroup(title: "Ledger") var options: CommonOptions
  @OptionGroup(title: "App") var evidence: EvidenceOptions

  /// What the store is asked.
  struct Scope: ParsableArguments {
    @Option(help: "The store to ask: apple or google.")
    var store: Store
    @Option(
      help: ArgumentHelp(
        "The start of the first pull; later pulls continue, unless this is earlier. (default: 30 days)",
        valueName: "time"
      )
    )
    var since: String?
    @Flag(help: "Query every known customer and purchase, not only changes.")
    var all = false
    @Option(
      parsing: .singleValue,
      help: ArgumentHelp(
        "Query Apple for the history of the customer with this transaction; repeatable.", valueName: "id"))
    var transaction: [String] = []
    @Flag(help: "Acknowledge purchases to Google, which refunds those that nobody acknowledges.")
    var acknowledge = false
    @OptionGroup var progress: ProgressOption
  }

  func run() async throws {
    let settings = try LedgerSettings(options, evidence.values)
    let ledger = try settings.openLedger()
    defer { ledger.close() }
    let now = settings.clock.now()
    let since = try scope.since.map { try TimeArgument.milliseconds($0, option: "since") } ?? now - 30 * 86_400_000
    let pull = try StorePull(ledger: ledger, clock: settings.clock)
    let report = try await scope.progress.showing("questions") { printer in
      switch scope.store {
      case .apple:
        let client = try settings.appStoreClient(for: ledger)
        return try await client.closing {
          try await pull.apple($0, since: since, everyone: scope.all, transactions: scope.transaction) {
            printer.show($0, of: $1)
          }
        }
      case .google:
        let client = try settings.googlePlayClient(for: ledger)
        return try await client.closing {
          try await pull.google($0, since: since, everyone: scope.all, acknowledge: scope.acknowledge) {
            printer.show($0, of: $1)
          }
        }
      }
    }
    if report.isHeld {
      printError(
        """
        purchase-ledger: some answers would verify with other root certificates, bundle id, app Apple id or package \
        name; correct them and pull again
        """
      )
    }
    for refusal in report.refusals where !options.json { printLine("refused: \(refusal)") }
    printLine(options.json ? Self.json(report).text : Self.text(report))
    if !report.refusals.isEmpty { throw ExitCode(.found) }
  }

  static func text(_ report: PullReport) -> String {
    let lost = report.isWindowLost ? "; window-lost: the voided list has a gap, every purchase was queried" : ""
    return "\(report.pieces) pieces on \(report.pages) pages, \(report.refusals.count) refused\(lost)"
  }

  private static func json(_ report: PullReport) -> JSONValue {
    .fields([
      ("pieces", .init(report.pieces)), ("pages", .init(report.pages)), ("windowLost", .bool(report.isWindowLost)),
      ("refusals", .array(report.refusals.map { EvidenceText.json($0) })),
    ])
  }
}

extension Store: ExpressibleByArgument {}
