import Foundation
import MapStoreWire
import PurchaseLedger
import StoreSimulators
import TestSupport

/// A running `mapstore serve`, as built, over a catalogue and ledger of the test's own. It is killed when this object
/// is released.
final class ServerProcess {
  let shop: Shop
  let process: ChildProcess
  let port: Int

  /// The state outside the process: files and the store's certificate authority.
  struct Shop {
    let folder: TemporaryFolder
    let catalog: TestCatalog
    let authority: EphemeralCA
    var ledger: String { folder.file("ledger.sqlite") }

    init(previewBytes: Int = 2000) throws {
      folder = try TemporaryFolder()
      catalog = try TestCatalog(folder, previewBytes: previewBytes)
      authority = try EphemeralCA()
      try folder.write("root.der", bytes: authority.rootCertificate)
      try folder.write("link.key", bytes: (0..<32).map { _ in UInt8.random(in: 0...255) })
      _ = try Ledger.create(at: folder.file("ledger.sqlite"), policy: LedgerPolicy(), clock: .system)
      try folder.write(
        "store.json",
        #"""
        {"catalogue": "catalogue", "ledger": "ledger.sqlite", "port": 0, "rootCertificates": ["root.der"], \#
        "bundleId": "\#(TestStore.bundleID)", "hmacKeyFiles": ["link.key"]}
        """#
      )
    }

    /// An account's session, made by another process than the server.
    func openSession() throws -> SessionDetails {
      try Ledger.open(at: ledger, policy: nil, clock: .system).openSession(lasting: 86_400_000)
    }

    /// A signed transaction of a region's product.
    func evidence(_ region: String, id: Int = 1) throws -> String {
      let now = LedgerClock.system.now()
      let fact = StoreTransaction(
        store: .apple, environment: .production, transactionID: "\(id)", originalTransactionID: "\(id)",
        productID: TestCatalog.product(region), productType: .nonConsumable, purchaseDate: now - 90_000,
        ownership: .purchased, price: Money(milliunits: 1990, currency: "EUR"), reason: "PURCHASE",
        signedDate: now - 60_000, trust: .signed, statement: .purchased)
      return String(decoding: try authority.transaction(fact, bundleID: TestStore.bundleID), as: UTF8.self)
    }

    var arguments: [String] { ["serve", "--config", folder.file("store.json")] }
    static let environment = ["MAPSTORE_LOG_LEVEL": "warning"]
  }

  struct NotServing: Error { let text: String }

  /// - Parameter options: in addition to the shop's.
  init(_ shop: Shop, _ options: [String] = [], environment: [String: String] = [:]) throws {
    self.shop = shop
    process = try Command(built: "mapstore").start(
      shop.arguments + options, environment: Shop.environment.merging(environment) { $1 })
    let output = process
    let came = output.wait(timeout: 60) { output.stdout.contains("catalogue: ") && output.stdout.hasSuffix("\n") }
    guard came, let match = output.stdout.firstMatch(of: /catalogue: http:\/\/[^\n]*:(\d+)\//),
      let port = Int(match.output.1)
    else { throw NotServing(text: "stdout: \(output.stdout)\nstderr: \(output.stderr)") }
    self.port = port
  }

  func send(_ method: String, _ target: String, token: String? = nil, _ message: some Encodable) throws -> HTTPResponse
  {
    try TestStore.request(port: port, method, target, token: token, body: WireJSON.encode(message))
  }

  func get(_ target: String, token: String? = nil, _ fields: [String: String] = [:]) throws -> HTTPResponse {
    try TestStore.request(port: port, "GET", target, token: token, fields)
  }

  /// The ledger's events that contain a text, as `purchase-ledger` prints them.
  func events(_ text: String) throws -> Int {
    let run = try Command(built: "purchase-ledger").run(["export", "--ledger", shop.ledger, "--format", "jsonl"])
    guard run.status == 0 else { throw NotServing(text: "\(run)") }
    return run.stdout.split(separator: "\n").count { $0.contains(text) }
  }

  func buy(_ evidence: [String], token: String) throws -> HTTPResponse {
    try send("POST", StoreRoute.purchases.path, token: token, PurchaseSubmission(transactions: evidence))
  }

  func ticket(_ region: String, token: String) throws -> DownloadTicket {
    let answer = try send(
      "POST", StoreRoute.downloads.path, token: token, DownloadRequest(regionId: region, kind: .bundle))
    return try WireJSON.decode(DownloadTicket.self, from: answer.body)
  }
}
