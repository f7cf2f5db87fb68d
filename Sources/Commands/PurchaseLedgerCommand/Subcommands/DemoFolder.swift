import Foundation
import PurchaseLedger

/// Where the demonstration puts its files.
struct DemoFolder {
  private let folder: String
  private let isTemporary: Bool

  /// - Throws: `LedgerError` when there is a ledger already, which is never overwritten.
  init(_ output: String?) throws {
    isTemporary = output == nil
    folder = output ?? FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    } catch {
      throw LedgerError(.input, at: folder, "cannot be made; name a folder that can be written")
    }
    guard !FileManager.default.fileExists(atPath: path("ledger.sqlite")) else {
      throw LedgerError(.input, at: path("ledger.sqlite"), "is there already; name another folder, or remove it")
    }
  }

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
      ("ledger", .string("ledger.sqlite")), ("rootCertificates", .array([.string("root.der")])),
      ("bundleId", .string(ShopGenerator.bundleID)), ("appAppleId", .string("\(ShopGenerator.appAppleID)")),
      ("packageName", .string(ShopGenerator.packageName)), ("now", .string("\(ShopGenerator.end)")),
    ])
    try put("config.json", Data(settings.text.utf8))
  }

  func removeIfTemporary() {
    if isTemporary { try? FileManager.default.removeItem(atPath: folder) }
  }

  func sayWhatNext() {
    guard !isTemporary else {
      print("\nto look around in it: purchase-ledger demo --output demo-shop")
      return
    }
    print("\nto look around: purchase-ledger reconcile --config \(path("config.json")) --report csv")
  }
}
