import Accounts
import ArgumentParser
import CommandSupport
import PurchaseLedger
import Support

/// `purchase-ledger import`
struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Records evidence: signed transactions, notifications, receipts, verifyReceipt and Google JSON.",
    discussion: """
      A file is one piece, or JSON Lines of pieces and of wrappers {"account": ..., "evidence": ...}. The format is \
      detected. Run it again after an interruption: recorded pieces are duplicates. --quarantined verifies quarantined \
      evidence again. Exits with 1 when a piece was refused or quarantined.

      Examples:
        purchase-ledger import december.jsonl
        purchase-ledger import --account alice receipt.b64
      """)

  enum Report: String, ExpressibleByArgument, CaseIterable { case text, json }

  @Argument(help: ArgumentHelp("Evidence; - for standard input.", valueName: "file"), completion: .file())
  var files: [String] = []
  @OptionGroup(title: "Evidence") var input: Input
  @OptionGroup(title: "Ledger") var options: CommonOptions
  @OptionGroup(title: "App") var evidence: EvidenceOptions

  /// What is read, and how.
  struct Input: ParsableArguments {
    @Flag(help: "Verify quarantined evidence again, without the account and options of its first import.")
    var quarantined = false
    @Option(help: ArgumentHelp("The account for evidence that names none: login or id.", valueName: "id"))
    var account: String?
    @Option(
      name: .customLong("as"),
      help: ArgumentHelp(
        "What the evidence is, if it is not recognised or taken for something else. (default: detected)",
        valueName: "kind"))
    var kind: KindArgument?
    @Option(
      help: """
        What is printed: text, the sum and what needs attention, or json, a line for each piece, as with --json. \
        (default: text)
        """
    )
    var report: Report?
    @Option(help: ArgumentHelp("The most pieces in one commit.", valueName: "count"))
    var batch = 65_536
    @OptionGroup var progress: ProgressOption
  }

  func validate() throws {
    if files.isEmpty && !input.quarantined {
      throw ValidationError("give files of evidence, - for standard input, or --quarantined")
    }
    if options.json, input.report == .text { throw ValidationError("--json and --report text contradict each other") }
    if !(1...1_000_000).contains(input.batch) { throw ValidationError("--batch must be 1 to 1000000") }
  }

  func run() async throws {
    let settings = try LedgerSettings(options, evidence.values)
    let ledger = try settings.openLedger()
    defer { ledger.close() }
    let identity = try settings.identity(for: ledger)
    let isJSON = options.json || input.report == .json
    var defaults = EvidenceImporter.Defaults(
      kind: input.kind?.kind, batchCount: input.batch, describesBooked: isJSON)
    defaults.account = try input.account.map { try ledger.accounts.existing($0) }
    let importer = EvidenceImporter(
      into: ledger, verifier: try EvidenceVerifier(identity: identity), identity: identity, clock: settings.clock,
      defaults: defaults)
    var counts: [Booking.Outcome: Int] = [:]
    let unfinished = try await input.progress.showing("pieces") { printer in
      try await importer.run(files, quarantined: input.quarantined) { lines in
        for line in lines {
          counts[line.booking.outcome, default: 0] += 1
          let complaint = isJSON ? ImportText.json(line).text : ImportText.complaint(line)
          guard let complaint else { continue }
          // On a terminal the line would follow the bar.
          printer.finish()
          printLine(complaint)
        }
        // Programs rely on these lines, so the import stops if they cannot be written.
        guard StandardStreams.flush() else {
          throw LedgerError(.database, at: "standard output", "cannot be written; what was committed is kept")
        }
      } progress: { done in
        printer.show(done.pieces, bytes: done.bytes, of: done.bytesTotal)
      }
    }
    for page in unfinished { printLine(ImportText.unfinished(page.source, page.line, isJSON: isJSON)) }
    if !isJSON {
      let pages = unfinished.isEmpty ? "" : ", \(unfinished.count) incomplete"
      printLine(ImportText.summary(counts) + pages)
    }
    if !unfinished.isEmpty { throw ExitCode(.found) }
    if counts[.refused, default: 0] + counts[.quarantined, default: 0] > 0 {
      throw ExitCode(.found)
    }
  }
}

/// Outcomes of imported evidence.
enum ImportText {
  static func json(_ line: EvidenceImporter.Line) -> JSONValue {
    let booking = line.booking
    let first = booking.transactions.first
    var fields: [(String, JSONValue)] = [
      ("source", .string(line.source)), ("line", .init(line.line)), ("outcome", .string(booking.outcome.rawValue)),
      ("reason", .init(booking.reason?.code.rawValue ?? booking.notes.first)),
      ("message", .init(booking.reason.map(EvidenceText.message))),
      ("store", .init(booking.store?.rawValue)),
      // Some of Google's evidence names none; its facts have the ledger's.
      ("environment", .init((booking.environment ?? first?.environment)?.rawValue)),
      ("transactionId", .init(first?.transactionID)), ("originalTransactionId", .init(first?.originalTransactionID)),
      ("productId", .init(first?.productID)), ("kind", .init(booking.kind?.name)),
    ]
    if booking.transactions.count > 1 {
      fields.append(
        (
          "transactions",
          .array(
            booking.transactions.map {
              .fields([
                ("transactionId", .string($0.transactionID)),
                ("originalTransactionId", .string($0.originalTransactionID)), ("productId", .init($0.productID)),
              ])
            })
        ))
    }
    return .fields(fields)
  }

  /// A line for a page behind which others are missing.
  static func unfinished(_ source: String, _ line: Int, isJSON: Bool) -> String {
    let reason = EvidenceImporter.unfinishedPage
    guard isJSON else { return "\(source):\(line): \(EvidenceText.line(reason))" }
    return JSONValue.fields([
      ("source", .string(source)), ("line", .init(line)), ("outcome", .string("incomplete")),
      ("reason", .string(reason.code.rawValue)), ("message", .string(EvidenceText.message(reason))),
    ]).text
  }

  /// A line for evidence that needs attention; nil for other evidence.
  static func complaint(_ line: EvidenceImporter.Line) -> String? {
    let needsAttention = [.refused, .quarantined].contains(line.booking.outcome)
    guard needsAttention || line.booking.notes.contains("unusable-price") else { return nil }
    let reason = line.booking.reason.map { ": \(EvidenceText.line($0))" } ?? ""
    return "\(line.source):\(line.line): \(line.booking.outcome.rawValue)\(reason)"
  }

  static func summary(_ counts: [Booking.Outcome: Int]) -> String {
    let outcomes: [Booking.Outcome] = [.accepted, .duplicate, .quarantined, .refused]
    return outcomes.map { "\(counts[$0, default: 0]) \($0.rawValue)" }.joined(separator: ", ")
  }
}
