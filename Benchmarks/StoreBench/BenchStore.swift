import Crypto
import Foundation
import PurchaseLedger
import StoreSimulators
import Support

/// Generates a map store in a folder: `catalog/`, `ledger.sqlite`, `store.json`, and `signed` with a purchase per line.
enum BenchStore {
  static let bundleID = "org.example.maps"
  static let regionCount = 170
  static let largeBytes = 100_000_000
  static func region(_ number: Int) -> String { "region-\(number)" }

  /// The customers own more than a thousand, and some own the large region, which only every 170th purchase is for.
  static let purchasesMin = 5_000

  /// - Throws: `StoreBench.Failure` for fewer purchases than the customers need.
  static func make(in folder: String, purchases: Int) throws {
    guard purchases >= purchasesMin else {
      throw StoreBench.Failure(
        description:
          "\(purchases) purchases are too few: the customers need some to own regions; give at least \(purchasesMin)"
      )
    }
    try FileManager.default.createDirectory(atPath: "\(folder)/catalogue", withIntermediateDirectories: true)
    try writeCatalog("\(folder)/catalogue")
    let authority = try EphemeralCA()
    try write(Data(authority.rootCertificate), "\(folder)/root.der")
    _ = try Ledger.create(at: "\(folder)/ledger.sqlite", policy: LedgerPolicy(), clock: .system)
    // All requests come from one address and few accounts, and rate limits are not measured.
    try write(
      Data(
        """
        {"catalogue": "catalogue", "ledger": "ledger.sqlite", "rootCertificates": ["root.der"], "bundleId": \
        "\(bundleID)", "linkSeconds": 86400,
         "limits": {"passwordsByAddressPerMinute": 100000, "requestsByAddressPerMinute": 100000000,
         "requestsByAccountPerMinute": 100000000, "evidencesByAccountPerMinute": 100000000, "transfersByAccount": \
         1000, "connectionsByAddress": 10000}}

        """.utf8), "\(folder)/store.json")
    try writePurchases("\(folder)/signed", count: purchases, authority)
  }

  private static func write(_ data: Data, _ path: String) throws { try data.write(to: URL(fileURLWithPath: path)) }

  /// The first region has the large bundle.
  private static func writeCatalog(_ catalog: String) throws {
    var random: UInt64 = 1
    let regions = try (0..<regionCount).map { number in
      let id = region(number)
      var bytes = Data(count: number == 0 ? largeBytes : 4096)
      bytes.withUnsafeMutableBytes { bytes in
        for offset in stride(from: 0, to: bytes.count, by: 8) {
          random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          bytes.storeBytes(of: random, toByteOffset: offset, as: UInt64.self)
        }
      }
      try write(bytes, "\(catalog)/\(id)-2026.1.mbtiles")
      let hash = Hexadecimal.text(SHA256.hash(data: bytes))
      let (west, south) = (Double(number % 17) * 20 - 170, Double(number / 17) * 12 - 60)
      return """
        {"id":"\(id)","productId":"\(bundleID).\(id)","title":"Region number \
        \(number)","category":"\(number % 3 == 0 ? "park" : "state")",\
        "bounds":[\(west),\(south),\(west + 15),\(south + 10)],\
        "tileMatrixSet":"WebMercatorQuad","minzoom":0,"maxzoom":12,"format":"png",\
        "file":"\(id)-2026.1.mbtiles","bytes":\(bytes.count),"sha256":"\(hash)","tileCount":9,"tilesHash":"00",\
        "edition":"2026.1","priceTier":"tier-1","packs":[],"patches":[]}
        """
    }
    try write(
      Data("{\"version\":1,\"regions\":[\n\(regions.joined(separator: ",\n"))\n]}\n".utf8), "\(catalog)/catalogue.json")
  }

  /// Purchases of many buyers without an account: each is granted to the first account that presents it.
  private static func writePurchases(_ path: String, count: Int, _ authority: EphemeralCA) throws {
    let now = LedgerClock.system.now()
    var text = Data()
    for number in 0..<count {
      let id = String(2_000_000_000_000 + number * 7)
      let fact = StoreTransaction(
        store: .apple, environment: .production, transactionID: id, originalTransactionID: id,
        productID: "\(bundleID).\(region(number % regionCount))", productType: .nonConsumable,
        purchaseDate: now - 86_400_000 + Int64(number), ownership: .purchased,
        price: Money(milliunits: 4990, currency: "USD"), reason: "PURCHASE",
        signedDate: now - 86_300_000 + Int64(number), trust: .signed, statement: .purchased)
      text.append(contentsOf: "\(id) ".utf8)
      text.append(contentsOf: try authority.transaction(fact, bundleID: bundleID))
      text.append(0x0a)
    }
    try write(text, path)
  }
}
