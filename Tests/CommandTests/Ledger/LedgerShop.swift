import Foundation
import PurchaseLedger
import StoreSimulators
import TestSupport
import Testing

/// A small generated ledger in a folder, with its configuration, and `purchase-ledger` on it.
struct LedgerShop {
  let folder: TemporaryFolder
  let shop: ShopGenerator

  init(buyers: Int = 8, seed: UInt64 = 5) throws {
    folder = try TemporaryFolder()
    let authority = try EphemeralCA()
    shop = try ShopGenerator(buyers: buyers, seed: seed, authority: authority)
    try folder.write("root.der", bytes: authority.rootCertificate)
    try folder.write("evidence.jsonl", bytes: Array(shop.evidence.joined(separator: [0x0a])))
    try folder.write("store.jsonl", bytes: Array(shop.storeLists.joined(separator: [0x0a])))
    try folder.write(
      "config.json",
      """
      {"ledger": "ledger.sqlite", "rootCertificates": ["root.der"], "bundleId": "\(ShopGenerator.bundleID)",
       "appAppleId": "\(ShopGenerator.appAppleID)", "packageName": "\(ShopGenerator.packageName)",
       "now": "\(ShopGenerator.end)"}
      """)
  }

  var ledgerPath: String { folder.file("ledger.sqlite") }

  /// Makes the ledger with the buyers' accounts, without the command, which takes a second to hash each password.
  func makeLedger(_ path: String? = nil) throws {
    let ledger = try Ledger.create(
      at: path ?? ledgerPath, policy: LedgerPolicy(), clock: .fixed(ShopGenerator.end))
    try shop.openAccounts(in: ledger)
  }

  func start(_ arguments: String...) throws -> ChildProcess {
    try Command(built: "purchase-ledger").start(arguments + ["--config", folder.file("config.json")])
  }

  func run(_ arguments: String..., timeout: Double = 120) throws -> CommandRun {
    try Command(built: "purchase-ledger").run(arguments + ["--config", folder.file("config.json")], timeout: timeout)
  }
}

/// Runs the built `purchase-ledger` to its end.
func purchaseLedger(_ arguments: String..., in folder: String? = nil) throws -> CommandRun {
  try Command(built: "purchase-ledger").run(arguments, in: folder)
}
