import ArgumentParser
import CommandSupport
import PurchaseLedger
import Support

/// `purchase-ledger verify`
struct VerifyLedgerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract:
      "Checks the file, the hash chain, the evidence, the postings, and the projections against the events.",
    discussion: """
      Exits with 1 when damage is found. Rows that no event covers, such as logins and pulled records, and facts that \
      no store signed are counted, because nothing can tell whether somebody changed them.
      """)

  @Option(
    help: ArgumentHelp(
      """
      The hash that verify, export or backup printed as the head on an earlier day, and that you kept elsewhere, such \
      as 9f86d081...: it shows that nothing before it was changed or cut off.
      """, valueName: "hash"),
    transform: Self.hash)
  var head: [UInt8]?
  @Flag(
    help: """
      Check every signature again, on all cores, and that events state what their evidence states; needs the root \
      certificates, and Google's key if there is evidence that it signed.
      """)
  var signatures = false
  @OptionGroup var progress: ProgressOption
  @OptionGroup var evidence: EvidenceOptions
  @OptionGroup var options: CommonOptions

  private static func hash(_ text: String) throws -> [UInt8] {
    guard let bytes = Hexadecimal.bytes(text), bytes.count == 32 else {
      throw ValidationError("must be 64 hexadecimal digits")
    }
    return bytes
  }

  func run() async throws {
    let settings = try LedgerSettings(options, evidence.values)
    let ledger = try settings.openLedgerToRead()
    let (verifier, anyApp) = signatures ? try verifier(settings, of: ledger) : (nil, [])
    var report = try await progress.showing("rows") { printer in
      try ledger.verify(head: head, progress: printer.isShown ? { printer.show($0, of: $1) } : nil)
    }
    if let verifier {
      report = try await progress.showing("statements") { [report] printer in
        var report = report
        try await ledger.verifySignatures(with: verifier, into: &report) { printer.show($0, of: $1) }
        return report
      }
    }
    for store in anyApp {
      let option = store == .apple ? "--bundle-id" : "packageName in the configuration file"
      printError("purchase-ledger: \(store.rawValue): evidence of any app was accepted; name the app with \(option)")
    }
    printText(options.json ? Self.json(report, anyApp: anyApp).text : Self.text(report))
    if !report.isClean { throw ExitCode(.found) }
  }

  /// What checks the evidence, and the stores whose evidence it accepts for any app, as none is named.
  ///
  /// - Throws: `LedgerError` that names what is needed for the evidence that is there.
  private func verifier(_ settings: LedgerSettings, of ledger: Ledger) throws -> (EvidenceVerifier, [Store]) {
    var identity = try settings.identity(for: ledger)
    var anyApp: Set<Store> = []
    for kind in try ledger.kindsOfEvidence() where kind.isSigned {
      let missing: LedgerError.MissingSetting? =
        switch kind.store {
        case .apple: identity.rootCertificates.isEmpty ? .rootCertificates : nil
        case .google: !identity.hasLicensingKey ? .googlePublicKey : nil
        }
      if (kind.store == .apple ? identity.bundleID : identity.packageName) == nil { anyApp.insert(kind.store) }
      guard let missing else { continue }
      throw LedgerError(missing: missing, at: "--signatures", "the ledger has a \(kind.name)")
    }
    // Evidence that was accepted under a higher cap stays valid.
    identity.evidenceBytesMax = .max
    // What import required is not required again.
    identity.requiresApp = false
    return (try EvidenceVerifier(identity: identity), Store.allCases.filter(anyApp.contains))
  }

  static func text(_ report: VerifyReport) -> String {
    var lines = report.findings.map { "damaged  \($0)" }
    if report.findingCount > lines.count { lines.append("         and \(report.findingCount - lines.count) more") }
    for total in report.totals {
      lines.append("\(total.currency): sales \(total.sales), refunds \(total.refunds) in minor units")
    }
    if report.unsigned > 0 {
      let (verb, object) = report.unsigned == 1 ? ("is", "it") : ("are", "them")
      lines.append(
        "\(counted(report.unsigned, "fact")) \(verb) not signed by a store: the operator vouches for \(object)")
    }
    if report.unpriced > 0 {
      lines.append("\(counted(report.unpriced, "sale")) without a usable price: in no total above")
    }
    if let after = report.afterHead {
      let kinds = after.unproven.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
      lines.append(
        "after the head: \(counted(after.events, "event"))"
          + (kinds.isEmpty ? "" : "; no signature confirms these among them: \(kinds)"))
    }
    if !report.outside.isEmpty {
      let tables = report.outside.map { "\(counted($0.rows, "row")) of \($0.table)" }.joined(separator: ", ")
      lines.append("not in the chain: \(tables)")
    }
    let signatures = report.signatures.map { ", \($0) signatures" } ?? ""
    lines.append(
      """
      \(report.events) events, \(report.evidence) pieces of evidence\(signatures): \
      \(report.isClean ? "clean" : "\(report.findingCount) found")
      """
    )
    lines.append("head \(Hexadecimal.text(report.head))")
    return lines.joined(separator: "\n")
  }

  static func json(_ report: VerifyReport, anyApp: [Store] = []) -> JSONValue {
    .fields([
      ("clean", .bool(report.isClean)), ("events", .init(report.events)), ("evidence", .init(report.evidence)),
      ("signatures", report.signatures.map { .init($0) } ?? .null), ("unsignedFacts", .init(report.unsigned)),
      ("unpriced", .init(report.unpriced)), ("anyApp", .array(anyApp.map { .string($0.rawValue) })),
      ("head", .string(Hexadecimal.text(report.head))),
      (
        "afterHead",
        report.afterHead.map { after in
          .fields([
            ("events", .init(after.events)),
            (
              "unproven",
              .object(after.unproven.sorted { $0.key < $1.key }.map { .init($0.key, .init($0.value)) })
            ),
          ])
        } ?? .null
      ),
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
      ("notInTheChain", .object(report.outside.map { .init($0.table, .init($0.rows)) })),
    ])
  }
}
