import ArgumentParser
import CommandSupport
import PurchaseLedger

/// `purchase-ledger verify`
struct VerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract:
      "Checks the hash chain, the evidence, that postings balance, and that the projections are those of the events.",
    discussion: "Exits with 1 when damage is found.")

  @Option(
    help: ArgumentHelp("A head that was printed before and kept elsewhere: it must be in the chain.", valueName: "hash")
  )
  var head: String?
  @OptionGroup var progress: ProgressOption
  @OptionGroup var options: CommonOptions

  func run() async throws {
    let ledger = try LedgerSettings(options).openLedgerToRead()
    let head = try self.head.map { text in
      guard let hash = Hexadecimal.bytes(text), hash.count == 32 else {
        throw ValidationError("--head wants 64 hexadecimal digits")
      }
      return hash
    }
    let printer = progress.printer("events")
    let report = try ledger.verify(head: head) { printer.show($0, of: $1) }
    printer.finish()
    printText(options.json ? Self.json(report).text : Self.text(report))
    if !report.isClean { throw ExitCode(ExitStatus.found.rawValue) }
  }

  static func text(_ report: VerifyReport) -> String {
    var lines = report.findings.map { "damaged  \($0)" }
    if report.findingCount > lines.count { lines.append("         and \(report.findingCount - lines.count) more") }
    for total in report.totals {
      lines.append("\(total.currency): sales \(total.sales), refunds \(total.refunds) in minor units")
    }
    lines.append(
      "\(report.events) events, \(report.evidence) pieces of evidence: \(report.isClean ? "clean" : "\(report.findingCount) found")"
    )
    lines.append("head \(Hexadecimal.text(report.head))")
    return lines.joined(separator: "\n")
  }

  static func json(_ report: VerifyReport) -> JSONValue {
    .fields([
      ("clean", .bool(report.isClean)), ("events", .init(report.events)), ("evidence", .init(report.evidence)),
      ("head", .string(Hexadecimal.text(report.head))),
      (
        "findings",
        .array(
          report.findings.map {
            .fields([("location", .string($0.location)), ("message", .string($0.message))])
          })
      ),
      (
        "totals",
        .array(
          report.totals.map {
            .fields([
              ("currency", .string($0.currency)), ("sales", .init($0.sales)), ("refunds", .init($0.refunds)),
            ])
          })
      ),
    ])
  }
}

/// Hashes as people copy them.
enum Hexadecimal {
  static func text(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  static func bytes(_ text: String) -> [UInt8]? {
    let digits = text.map(\.hexDigitValue)
    guard digits.count % 2 == 0, !digits.contains(nil) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0]! << 4 | digits[$0 + 1]!) }
  }
}
