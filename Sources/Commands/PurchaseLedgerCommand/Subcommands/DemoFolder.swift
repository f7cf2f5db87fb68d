import CommandSupport
import Foundation
import PurchaseLedger
import Support

/// Where the demonstration puts its files.
struct DemoFolder {
  private let folder: String
  private let isTemporary: Bool
  /// Where the ledger is kept by itself; nil where it lies with the other files.
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
      throw LedgerError(.input, at: folder, "cannot be made; name a folder that can be written")
    }
    try Self.refuse(path("ledger.sqlite"))
  }

  private static func refuse(_ ledger: String) throws {
    guard FileManager.default.fileExists(atPath: ledger) else { return }
    throw LedgerError(.input, at: ledger, "is there already; name another, or remove it")
  }

  var ledger: String { keptLedger ?? path("ledger.sqlite") }

  func path(_ name: String) -> String { "\(folder)/\(name)" }

  func write(_ shop: ShopGenerator, _ authority: ThrowAwayAuthority) throws {
    func put(_ name: String, _ data: Data) throws {
      do { try data.write(to: URL(fileURLWithPath: path(name))) } catch {
        throw LedgerError(.input, at: path(name), "cannot be written; check room and permissions")
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
      return say("to look around in it: purchase-ledger demo --output demo-shop")
    }
    say("to look around: purchase-ledger reconcile --config \(path("config.json")) --report csv")
  }

  private func say(_ line: String) {
    printLine("")
    printLine(line)
  }
}
