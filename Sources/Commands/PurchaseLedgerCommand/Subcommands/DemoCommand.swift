import Accounts
import ArgumentParser
import CommandConfiguration
import CommandSupport
import PurchaseLedger
import StoreSimulators
import Support

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `purchase-ledger demo`
struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Generates a year of purchases of 170 regions, records and reconciles it.",
    discussion: """
      Everything is signed by an ephemeral certificate authority. Only --ledger sets where the ledger is kept, so that \
      a generated ledger never replaces a real one.
      """)

  @Option(help: "The number of buyers.")
  var buyers = 1000
  @Option(help: "A number that decides what is bought by whom; equal numbers give equal years, but for the signatures.")
  var seed: UInt64 = 170
  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "Keep ledger, evidence and configuration there, to try the other commands.", valueName: "folder"),
    completion: .directory)
  var output: String?
  @Option(
    help: ArgumentHelp("Keep the ledger in this file, which must not exist yet.", valueName: "file"),
    completion: .file())
  var ledger: String?
  @Option(
    help: ArgumentHelp("A JSON file with policies and now; other options in it are ignored.", valueName: "file"),
    completion: .file())
  var config: String?
  @Option(
    help: ArgumentHelp(
      """
      Work as if it were this time, for tests and to see what was owned then: 2026-11-21T15:00:00Z, or milliseconds \
      since 1970. (default: the year's end)
      """,
      valueName: "time")
  )
  var now: String?
  @OptionGroup var progress: ProgressOption
  @Flag(help: "Print JSON: one object instead of text.")
  var json = false

  func validate() throws {
    if !(1...1_000_000).contains(buyers) { throw ValidationError("--buyers must be 1 to 1000000") }
  }

  func run() async throws {
    let settings = try LedgerSettings.values(FlagValues(["now": now]), config: config)
    let now = try settings.text("now").map { try TimeArgument.milliseconds($0, option: "now") } ?? ShopGenerator.end
    var policy = LedgerPolicy()
    for (name, value) in settings.members(of: "policy") { try policy.set(name, to: value) }
    let folder = try DemoFolder(output, ledger: ledger, now: now)
    defer { folder.removeIfTemporary() }
    let start = ContinuousClock.now
    let authority = try EphemeralCA()
    let shop = try ShopGenerator(buyers: buyers, seed: seed, authority: authority)
    try folder.write(shop, authority)
    say("a year of purchases: \(buyers) buyers, \(shop.evidence.count) pieces of evidence", start)

    let clock = LedgerClock.fixed(now)
    let ledger = try Ledger.create(at: folder.ledger, policy: policy, clock: clock)
    defer { ledger.close() }
    try shop.openAccounts(in: ledger)
    let identity = StoreIdentity(
      rootCertificates: [authority.rootCertificate], bundleID: ShopGenerator.bundleID,
      appAppleID: ShopGenerator.appAppleID, packageName: ShopGenerator.packageName
    ).bounded(by: policy)
    let importer = EvidenceImporter(
      into: ledger, verifier: try EvidenceVerifier(identity: identity), identity: identity, clock: clock)
    var counts: [Booking.Outcome: Int] = [:]
    var reasons: [String: Int] = [:]
    _ = try await progress.showing("pieces") { printer in
      try await importer.run([folder.path("evidence.jsonl")]) { lines in
        for line in lines {
          counts[line.booking.outcome, default: 0] += 1
          guard [.refused, .quarantined].contains(line.booking.outcome), let reason = line.booking.reason else {
            continue
          }
          reasons[reason.code.rawValue, default: 0] += 1
        }
      } progress: {
        printer.show($0.pieces, bytes: $0.bytes, of: $0.bytesTotal)
      }
    }
    say("import: \(ImportText.summary(counts))", start)
    if !json { for (reason, count) in reasons.sorted(by: { $0.key < $1.key }) { printLine("  \(count) \(reason)") } }

    try await progress.showing("pieces") { printer in
      _ = try await SnapshotReader(importer, snapshot: Snapshot(of: ledger)).read(folder.path("store.jsonl")) {
        printer.show($0.pieces, bytes: $0.bytes, of: $0.bytesTotal)
      }
    }
    say("reconcile: the stores' records against the ledger; the first of each kind", start)
    let before = try reconcile(ledger, shown: 1)
    let applied = try await progress.showing("transactions") { printer in
      try Reconciler(ledger: ledger).run(apply: true, progress: { printer.show($0, of: $1) })
    }
    say("reconcile --apply: \(applied.applied) recorded", start)
    say("reconcile again: the remaining differences need a person", start)
    let after = try reconcile(ledger, shown: 1)
    let report = try await progress.showing("rows") { printer in
      try ledger.verify { printer.show($0, of: $1) }
    }
    say("verify", start)
    if json {
      let imported = counts.map { JSONValue.Member($0.key.rawValue, .init($0.value)) }
      let refused = reasons.map { JSONValue.Member($0.key, .init($0.value)) }
      printText(
        JSONValue.fields([
          ("buyers", .init(buyers)), ("seed", .string("\(seed)")), ("evidence", .init(shop.evidence.count)),
          ("imported", .object(imported.sorted { $0.name < $1.name })),
          ("notBooked", .object(refused.sorted { $0.name < $1.name })), ("reconcile", Self.json(before)),
          ("applied", .init(applied.applied)), ("reconcileAfter", Self.json(after)),
          ("verify", VerifyLedgerCommand.json(report)),
        ]).text)
    } else {
      printText(VerifyLedgerCommand.text(report))
      folder.sayWhatNext()
    }
    if !report.isClean { throw ExitCode(.found) }
  }

  /// Prints the report with at most a given number of differences of each class.
  private func reconcile(_ ledger: Ledger, shown: Int) throws -> ReconcileReport {
    let isSilent = json
    var writer = ReconcileWriter(.text) { if !isSilent { printText($0, terminator: "") } }
    var counts: [ReconcileClass: Int] = [:]
    if !json { printLine("") }
    let report = try Reconciler(ledger: ledger).run(apply: false) { line in
      counts[line.class, default: 0] += 1
      if counts[line.class, default: 0] <= shown { try writer.add(line) }
    }
    try writer.finish(report)
    return report
  }

  private static func json(_ report: ReconcileReport) -> JSONValue {
    .object(ReconcileClass.allCases.map { .init($0.name, .init(report[$0])) })
  }

  private func say(_ text: String, _ start: ContinuousClock.Instant) {
    guard !json else { return }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    printText("\n== \(text) [\(DecimalText.fixed(seconds, 1)) s]")
  }
}

/// The folder of the demonstration's files.
private struct DemoFolder {
  private let folder: String
  private let isTemporary: Bool
  /// The path of the ledger if it is not in this folder; nil if it is.
  private let keptLedger: String?
  private let now: Int64

  /// - Parameter now: Milliseconds since 1970, for the configuration.
  /// - Throws: `LedgerError` when there is a ledger already, which is never overwritten.
  init(_ output: String?, ledger: String?, now: Int64) throws {
    isTemporary = output == nil
    keptLedger = ledger
    self.now = now
    if let ledger { try Self.refuse(ledger) }
    folder = output ?? FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    } catch {
      throw LedgerError(.input, at: folder, "cannot be made", remedy: "name a folder that can be written")
    }
    try Self.refuse(path("ledger.sqlite"))
  }

  private static func refuse(_ ledger: String) throws {
    guard FileManager.default.fileExists(atPath: ledger) else { return }
    throw LedgerError(.input, at: ledger, "is there already", remedy: "name another, or remove it")
  }

  var ledger: String { keptLedger ?? path("ledger.sqlite") }

  func path(_ name: String) -> String { "\(folder)/\(name)" }

  func write(_ shop: ShopGenerator, _ authority: EphemeralCA) throws {
    func put(_ name: String, _ data: Data) throws {
      do { try data.write(to: URL(fileURLWithPath: path(name))) } catch {
        throw LedgerError(.input, at: path(name), "cannot be written", remedy: "check room and permissions")
      }
    }
    try put("root.der", Data(authority.rootCertificate))
    try put("evidence.jsonl", Data(shop.evidence.joined(separator: [0x0a])))
    try put("store.jsonl", Data(shop.storeLists.joined(separator: [0x0a])))
    let settings = JSONValue.fields([
      ("ledger", .string(keptLedger.map { URL(fileURLWithPath: $0).path } ?? "ledger.sqlite")),
      ("rootCertificates", .array([.string("root.der")])),
      ("bundleId", .string(ShopGenerator.bundleID)), ("appAppleId", .string("\(ShopGenerator.appAppleID)")),
      ("packageName", .string(ShopGenerator.packageName)), ("now", .string("\(now)")),
    ])
    try put("config.json", Data(settings.text.utf8))
  }

  func removeIfTemporary() {
    if isTemporary { try? FileManager.default.removeItem(atPath: folder) }
  }

  func sayWhatNext() {
    guard !isTemporary else {
      if let keptLedger { say("the ledger: purchase-ledger export --format hledger --ledger \(keptLedger)") }
      return say("to keep its files: purchase-ledger demo --output demo")
    }
    say("to try other commands: purchase-ledger reconcile --config \(path("config.json")) --report csv")
  }

  private func say(_ line: String) {
    printLine("")
    printLine(line)
  }
}
