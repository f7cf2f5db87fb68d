public import ArgumentParser
import CommandSupport
public import PurchaseLedger
import Support

/// `purchase-ledger pull`
struct PullCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pull",
    abstract: "Fetches a store's records for reconcile, and acknowledges purchases.",
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
    @Option(
      help: ArgumentHelp(
        "Read everything from there on again, as after an update that understands more.", valueName: "time"))
    var again: String?
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

    func validate() throws {
      if since != nil, again != nil { throw ValidationError("Give --since or --again, not both.") }
      if store == .google, !transaction.isEmpty {
        throw ValidationError("--transaction is for Apple: Google is asked by purchases, with --all.")
      }
      if store == .apple, acknowledge {
        throw ValidationError("--acknowledge is for Google: Apple's purchases need no acknowledgement.")
      }
    }

    fileprivate func start() throws -> FeedStart {
      if let again { return .again(try TimeArgument.milliseconds(again, option: "--again")) }
      return try since.map { .since(try TimeArgument.milliseconds($0, option: "--since")) } ?? .next
    }
  }

  func run() async throws {
    let start = try scope.start()
    let settings = try LedgerSettings(options, evidence.values)
    let ledger = try settings.openLedger()
    defer { ledger.close() }
    let pull = try StorePull(ledger: ledger, clock: settings.clock)
    var report = try await scope.progress.showing("questions") { printer in
      switch scope.store {
      case .apple:
        let clients = try settings.appStoreClients(for: ledger)
        return try await clients.closing {
          try await pull.apple($0, start, everyone: scope.all, transactions: scope.transaction) {
            printer.show($0, of: $1)
          }
        }
      case .google:
        let clients = try settings.storeAccess(for: ledger).googlePlayClients(for: ledger)
        return try await clients.closing {
          try await pull.google($0, start, everyone: scope.all, acknowledge: scope.acknowledge) {
            printer.show($0, of: $1)
          }
        }
      }
    }
    let review = QuarantineReview(ledger, verifier: try EvidenceVerifier(identity: settings.identity(for: ledger)))
    report.released = try await review.run()
    if let clock = StoreClock.text(report.clockAhead) {
      printError("purchase-ledger: \(clock); windows are counted by the store's; correct the clock")
    }
    if let again = start.again, let from = report.readFrom, from > again {
      printError(
        "purchase-ledger: the store keeps nothing from before \(TimeText.rfc3339(from)); it was read again from there on"
      )
    }
    if report.isWindowLost { printError("purchase-ledger: \(lostText(report))") }
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
    if report.needsPerson { throw ExitCode(.found) }
  }

  private func lostText(_ report: PullReport) -> String {
    let time = report.lost.map { ", from \(TimeText.rfc3339($0.from)) to \(TimeText.rfc3339($0.until))" } ?? ""
    let asked = scope.store == .apple ? "customer" : "purchase"
    return
      "window-lost: the store no longer lists a part of the time\(time); every known \(asked) was asked for instead"
  }

  static func text(_ report: PullReport) -> String {
    "\(report.pieces) pieces on \(report.pages) pages, \(report.refusals.count) refused"
      + (report.released > 0 ? ", \(report.released) left quarantine" : "")
      + (report.isWindowLost ? ", window-lost" : "")
  }

  private static func json(_ report: PullReport) -> JSONValue {
    .fields([
      ("pieces", .init(report.pieces)), ("pages", .init(report.pages)), ("windowLost", .bool(report.isWindowLost)),
      (
        "lost",
        report.lost.map { lost in
          .fields([
            ("from", .string(TimeText.rfc3339(lost.from))), ("to", .string(TimeText.rfc3339(lost.until))),
          ])
        } ?? .null
      ), ("released", .init(report.released)),
      ("clockSeconds", report.clockAhead.map { .number(Double($0) / 1000) } ?? .null),
      ("refusals", .array(report.refusals.map { EvidenceText.json($0) })),
    ])
  }
}

extension Store: ExpressibleByArgument {}
