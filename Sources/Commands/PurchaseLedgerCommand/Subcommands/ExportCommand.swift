import ArgumentParser
import CommandSupport
import LibC
public import PurchaseLedger
import Support

/// `purchase-ledger export`
struct ExportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes the events as JSON Lines, the postings as an hledger journal, or the evidence.",
    discussion: """
      Both formats contain the last event's hash (the head), which verify --head looks for. --evidence writes all \
      evidence with its accounts, their logins and hashed passwords, as lines that import and merge read. Only the \
      file's owner can read it (mode 0600). A sale for which no store states a usable price is marked unpriced in \
      the journal and counted on standard error; with --output, --json prints the counts.
      """)

  @Option(help: "What is written: jsonl, the events, or hledger, a journal of the postings.")
  var format: ExportFormat = .jsonLines
  @Flag(help: "Write the evidence and the accounts instead of the events.")
  var evidence = false
  @Option(
    name: [.short, .long], help: ArgumentHelp("The file to write. (default: standard output)", valueName: "file"),
    completion: .file())
  var output: String?
  @Flag(help: "Replace the output if it exists.")
  var force = false
  @OptionGroup var progress: ProgressOption
  @OptionGroup var options: CommonOptions

  func validate() throws {
    if evidence, format == .hledger { throw ValidationError("--evidence and --format hledger contradict each other") }
    if options.json, format == .hledger, output == nil || output == "-" {
      throw ValidationError("--json and --format hledger contradict each other without --output FILE")
    }
  }

  func run() async throws {
    let output = output == "-" ? nil : output
    let ledger = try LedgerSettings(options).openLedgerToRead()
    if let output, ledger.owns(output) {
      throw LedgerError(
        .input, at: output, "is the ledger itself, which an export must not replace", remedy: "name another file")
    }
    do {
      let file = try CommandOutput(output, replacing: force)
      let summary = try await progress.showing(format == .hledger ? "postings" : "events") { printer in
        var buffer: [UInt8] = []
        func write(_ bytes: some Sequence<UInt8>) throws {
          buffer.append(contentsOf: bytes)
          guard buffer.count > 1 << 20 else { return }
          try file.write(buffer)
          buffer.removeAll(keepingCapacity: true)
        }
        var summary = ExportSummary()
        if evidence {
          _ = try ledger.exportEvidence(to: write) { printer.show($0, of: $1) }
        } else {
          summary = try ledger.export(format) { text in
            try write(text.escapedForTerminal(keepingLines: true).utf8)
          } progress: {
            printer.show($0, of: $1)
          }
        }
        try file.write(buffer)
        return summary
      }
      try file.finish()
      report(summary)
      if let output, !options.json {
        let what = evidence ? "the evidence" : format == .hledger ? "the postings" : "the events"
        printLine("\(output): \(what) of \(ledger.path)")
      }
    } catch let error as FileSystem.SystemError {
      guard let output else {
        throw LedgerError(
          .database, at: "standard output", "could not be written: \(error)", remedy: "check where it goes")
      }
      if error.number == EEXIST {
        throw LedgerError(
          .exists, at: output, "is there already", remedy: "name another file, or replace it with --force")
      }
      throw LedgerError(
        .input, at: output, "cannot be written: \(error)", remedy: "check the folder, its permissions and the disk")
    }
  }
}

extension ExportCommand {
  /// A journal with amounts that nobody states must not pass for complete.
  private func report(_ summary: ExportSummary) {
    guard format == .hledger else { return }
    let (sales, refunds) = (summary.unpricedSales, summary.unpricedRefunds)
    if sales + refunds > 0 {
      printError(
        """
        purchase-ledger: unpriced: \(counted(sales, "sale")) and \(counted(refunds, "refund")) without a usable price, \
        marked so in the journal; take their amounts from the store's financial reports
        """)
    }
    guard options.json, let output else { return }
    printLine(
      JSONValue.fields([
        ("output", .string(output)), ("postings", .init(summary.entries)), ("unpriced", .init(sales)),
        ("unpricedRefunds", .init(refunds)),
      ]).text)
  }
}

extension ExportFormat: ExpressibleByArgument {}
