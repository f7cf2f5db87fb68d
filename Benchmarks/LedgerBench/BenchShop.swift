import Foundation
import PurchaseLedger
import StoreSimulators

/// Generates the evidence of many purchases, in files and on all cores.
struct BenchShop {
  static let bundleID = "org.example.maps"
  static let packageName = "org.example.maps"
  static let start: Int64 = 1_767_225_600_000
  static let now = start + 365 * 86_400_000

  let authority: EphemeralCA
  let count: Int

  /// Each buyer owns five regions.
  var accountCount: Int { max(1, count / 5) }

  var identity: StoreIdentity {
    StoreIdentity(
      rootCertificates: [authority.rootCertificate], bundleID: Self.bundleID, packageName: Self.packageName)
  }

  /// The token of an account.
  static func token(_ account: Int) -> AccountToken { AccountToken(uuid(0x70, account)) }
  static func accountID(_ account: Int) -> AccountID { AccountID(uuid(0x61, account)) }

  private static func uuid(_ kind: UInt8, _ number: Int) -> UUID {
    var bytes = [UInt8](repeating: 0, count: 16)
    (bytes[0], bytes[6], bytes[8]) = (kind, 0x40, 0x80)
    withUnsafeBytes(of: UInt64(number).bigEndian) { bytes.replaceSubrange(9..<16, with: $0.dropFirst()) }
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// IDs rise with gaps, as the stores' mostly do.
  func purchase(_ index: Int) -> StoreTransaction {
    let id = "\(700_000_000_000_000 + index * 4001 + (index &* 7919) % 4000)"
    let date = Self.start + Int64(index) * 25_000 % (300 * 86_400_000)
    return StoreTransaction(
      store: .apple, environment: .production, transactionID: id, originalTransactionID: id,
      productID: "region.\(index % 170)", productType: .nonConsumable, purchaseDate: date, ownership: .purchased,
      appAccountToken: Self.token(index % accountCount), price: Money(milliunits: 4990, currency: "USD"),
      reason: "PURCHASE", signedDate: date + 1500, trust: .signed, statement: .purchased)
  }

  /// One JWS per line.
  func writeSigned(to path: String) throws {
    try write(path) { try authority.transaction(purchase($0), bundleID: Self.bundleID) }
  }

  /// One `purchases.products` resource per line.
  func writeUnsigned(to path: String) throws {
    try write(path) { index in
      let fact = purchase(index)
      return Array(
        """
        {"productId":"\(fact.productID ?? "")","purchaseToken":"token-\(index)","packageName":"\(Self.packageName)",\
        "evidence":{"kind":"androidpublisher#productPurchase","purchaseTimeMillis":"\(fact.purchaseDate)",\
        "purchaseState":0,"consumptionState":0,"orderId":"GPA.3300-\(fact.transactionID)","acknowledgementState":1,\
        "obfuscatedExternalAccountId":"\(Self.token(index % accountCount))"}}
        """.utf8)
    }
  }

  /// One response of `verifyReceipt` per line, with one purchase each.
  func writeAnswers(to path: String) throws {
    try write(path) { index in
      let fact = purchase(index)
      return Array(
        """
        {"status":0,"environment":"Production","receipt":{"receipt_type":"Production","adam_id":1234567890,\
        "bundle_id":"\(Self.bundleID)","application_version":"12","request_date_ms":"\(fact.signedDate)",\
        "receipt_creation_date_ms":"\(fact.purchaseDate)",\
        "in_app":[{"quantity":"1","product_id":"\(fact.productID ?? "")",\
        "transaction_id":"\(fact.transactionID)","original_transaction_id":"\(fact.transactionID)",\
        "purchase_date_ms":"\(fact.purchaseDate)","original_purchase_date_ms":"\(fact.purchaseDate)",\
        "is_trial_period":"false","in_app_ownership_type":"PURCHASED"}]}}
        """.utf8)
    }
  }

  private func write(_ path: String, _ line: @escaping @Sendable (Int) throws -> [UInt8]) throws {
    try Data().write(to: URL(fileURLWithPath: path))
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    let step = 20_000
    for first in stride(from: 0, to: count, by: step) {
      let last = min(first + step, count)
      let workers = ProcessInfo.processInfo.activeProcessorCount
      let parts = Parts(count: workers)
      DispatchQueue.concurrentPerform(iterations: workers) { worker in
        var bytes: [UInt8] = []
        let share = (last - first + workers - 1) / workers
        for index in min(first + worker * share, last)..<min(first + (worker + 1) * share, last) {
          bytes += (try? line(index)) ?? []
          bytes.append(0x0a)
        }
        parts.set(worker, bytes)
      }
      for part in parts.all { try file.write(contentsOf: part) }
    }
    try file.close()
  }
}

/// The results of several threads, by index.
private final class Parts: @unchecked Sendable {
  private let lock = NSLock()
  private var parts: [[UInt8]]
  init(count: Int) { parts = Array(repeating: [], count: count) }
  func set(_ index: Int, _ bytes: [UInt8]) { lock.withLock { parts[index] = bytes } }
  var all: [[UInt8]] { lock.withLock { parts } }
}
