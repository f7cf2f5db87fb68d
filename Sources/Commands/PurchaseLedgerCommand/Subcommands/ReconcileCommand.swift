import Accounts
import ArgumentParser
import CommandSupport
public import PurchaseLedger

/// `purchase-ledger reconcile`
struct ReconcileCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reconcile",
    abstract: "Compares the stores' records with the ledger.",
    discussion: """
      Compares the pulled records, or with --against an export of the store's evidence, and records nothing unless \
      --apply is given. Exits with 0 when store and ledger agree, with 1 when differences remain, or when agreement \
      cannot be known: pulled records older than --max-age, a store that was not pulled, a clock that was wrong, a \
      restored backup.

      Examples:
        purchase-ledger reconcile --config ledger.json
        purchase-ledger reconcile --against store.jsonl --report csv
      """)

  @OptionGroup(title: "Comparison") var comparison: Comparison
  @OptionGroup(title: "Ledger") var options: CommonOptions
  @OptionGroup(title: "App") var evidence: EvidenceOptions

  /// What is compared, and what becomes of differences.
  struct Comparison: ParsableArguments {
    @Flag(help: "Record what is missing, from the store's evidence.")
    var apply = false
    @Option(
      help: ArgumentHelp(
        "An export of the store's evidence, to compare instead of the pulled records, which stay.", valueName: "file"),
      completion: .file())
    var against: String?
    @Option(help: "The form of the report: text, json or csv. (default: text)")
    var report: ReconcileFormat?
    @Option(
      help: ArgumentHelp(
        "How old the pulled records may be, in hours or days: 36h, 7d. (default: 2d)", valueName: "age"))
    var maxAge: MaxAge?
    @OptionGroup var progress: ProgressOption
  }

  func validate() throws {
    if options.json, let report = comparison.report, report != .json {
      throw ValidationError("--json and --report \(report.rawValue) contradict each other")
    }
  }

  func run() async throws {
    let settings = try LedgerSettings(options, evidence.values)
    let ledger = comparison.apply ? try settings.openLedger() : try settings.openLedgerToRead()
    defer { ledger.close() }
    var unread = 0
    var snapshot = Snapshot(of: ledger)
    if let against = comparison.against {
      let identity = try settings.identity(for: ledger)
      let importer = EvidenceImporter(
        into: ledger, verifier: try EvidenceVerifier(identity: identity), identity: identity, clock: settings.clock)
      let apart = try Snapshot(apartFrom: ledger)
      snapshot = apart
      let read = try await comparison.progress.showing("pieces") { printer in
        try await SnapshotReader(importer, snapshot: apart).read(against) { done in
          printer.show(done.pieces, bytes: done.bytes, of: done.bytesTotal)
        }
      }
      for refusal in read.refusals { printError("purchase-ledger: \(against): \(refusal)") }
      guard read.pieces > 0 else {
        throw LedgerError(.input, at: against, "holds no evidence that verifies, so there is nothing to compare with")
      }
      unread = read.refusals.count
      printError("purchase-ledger: \(against): nobody knows when it was made; what happened since is not in it")
    }
    let form = comparison.report ?? (options.json ? .json : .text)
    let ageMax = comparison.maxAge?.milliseconds ?? Reconciler.ageMaxDefault
    let found = try await comparison.progress.showing("transactions") { printer in
      var writer = ReconcileWriter(form) {
        // On a terminal the text would follow the bar.
        printer.finish()
        printText($0, terminator: "")
      }
      let found = try Reconciler(ledger: ledger, snapshot: snapshot, unread: unread, ageMax: ageMax).run(
        apply: comparison.apply
      ) {
        try writer.add($0)
      } progress: {
        printer.show($0, of: $1)
      }
      try writer.finish(found)
      return found
    }
    if found.scopes.isEmpty {
      throw LedgerError(
        .input, at: settings.ledgerPath, "no store was pulled yet: run `purchase-ledger pull`, or give --against")
    }
    if comparison.against == nil {
      ledger.close()
      settings.note(
        LastRunNote(isClean: found.isAgreed, remaining: found.remaining), of: LastRunNote.reconcile)
    }
    if !found.isAgreed { throw ExitCode(.found) }
  }
}

/// A whole number of hours or days.
struct MaxAge: ExpressibleByArgument {
  let milliseconds: Int64

  init?(argument: String) {
    let units: [Character: Int64] = ["h": 3_600_000, "d": 86_400_000]
    guard let unit = argument.last.flatMap({ units[$0] }), let number = Int64(argument.dropLast()),
      (1...100_000).contains(number)
    else { return nil }
    milliseconds = number * unit
  }
}

extension ReconcileFormat: ExpressibleByArgument {}
