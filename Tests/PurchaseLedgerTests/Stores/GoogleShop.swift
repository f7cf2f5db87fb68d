import Foundation
import StoreSimulators
import TestSupport
import Testing

@testable import PurchaseLedger

/// A shop with a fake Google Play, which answers that each purchase is paid unless `hook` answers first.
final class GoogleShop: Sendable {
  static let now: Int64 = 1_790_000_000_000
  static let day: Int64 = 86_400_000

  let folder: TemporaryFolder
  let server: StoreServer

  init(_ hook: @escaping @Sendable (StoreServer.Request) -> StoreServer.Reply?) async throws {
    folder = try TemporaryFolder()
    server = try await StoreServer.start { request, _ in
      if let answer = hook(request) { return answer }
      if request.path.hasSuffix("/voidedpurchases") { return .json("{}") }
      if request.path.hasSuffix("/orders:batchGet") { return GoogleShop.orders(request) }
      return request.method == "POST" ? .json("{}") : GoogleShop.product(request)
    }
    try Ledger.create(at: folder.file("l.sqlite"), policy: LedgerPolicy(), clock: .fixed(Self.now)).close()
  }

  /// Orders of 4.99 EUR each, of which 0.80 tax, with the ids that were asked for.
  static func orders(_ request: StoreServer.Request, _ members: String = #""state": "PROCESSED""#) -> StoreServer.Reply
  {
    let ids = request.target.split(separator: "?").last?.split(separator: "&").map { $0.dropFirst("orderIds=".count) }
    let bought = Date(timeIntervalSince1970: Double(now - day) / 1000).formatted(.iso8601)
    let orders = (ids ?? []).map { id in
      """
      {"orderId": "\(id)", "createTime": "\(bought)", "lastEventTime": "\(bought)", \(members),
      "purchaseToken": "token-\(id)", "buyerAddress": {"buyerCountry": "DE"},
      "total": {"currencyCode": "EUR", "units": "4", "nanos": 990000000},
      "tax": {"currencyCode": "EUR", "nanos": 800000000}, "lineItems": [{"productId": "region.alps"}]}
      """
    }
    return .json(#"{"orders": [\#(orders.joined(separator: ","))]}"#)
  }

  static func product(_ request: StoreServer.Request, _ members: String = #""purchaseState": 0"#) -> StoreServer.Reply {
    let id = String(request.path.split(separator: "/").last ?? "").replacing("token-", with: "")
    return .json(#"{"purchaseTimeMillis": "\#(Self.now - Self.day)", "orderId": "\#(id)", \#(members)}"#)
  }

  func with<Value>(day: Int64 = 0, _ work: (Ledger) async throws -> Value) async throws -> Value {
    let ledger = try Ledger.open(
      at: folder.file("l.sqlite"), policy: nil, clock: .fixed(Self.now + day * Self.day))
    defer { ledger.close() }
    return try await work(ledger)
  }

  /// Pulls on a day, and records what was pulled.
  @discardableResult
  func pull(day: Int64 = 0, everyone: Bool = false, acknowledge: Bool = false) async throws -> PullReport {
    try await with(day: day) { ledger in
      let client = try GooglePlayClient(
        packageName: "org.example.maps", credentials: .accessToken("given"), environment: .production,
        verifier: GoogleVerifier(identity: .init(packageName: "org.example.maps")), clock: ledger.clock,
        baseURL: server.url, rate: 10_000, retry: .init(attemptsMax: 2, firstDelay: 0.01))
      let result: Result<PullReport, any Error>
      do {
        result = .success(
          try await StorePull(ledger: ledger, clock: ledger.clock).google(
            client, everyone: everyone,
            acknowledge: acknowledge
          ) { _, _ in })
      } catch { result = .failure(error) }
      try await client.shutdown()
      return try result.get()
    }
  }

  /// Records what was pulled, and checks the file.
  func reconcile(day: Int64 = 0) async throws {
    try await with(day: day) { ledger in
      _ = try Reconciler(ledger: ledger).run(apply: true)
      #expect(try ledger.verify().isClean)
    }
  }

  func paths(_ part: String) -> [String] { server.requests.map(\.path).filter { $0.contains(part) } }

  /// A purchase as a device has it, signed by Google.
  static func submit(
    _ id: String, to ledger: Ledger, type: ProductType = .unknown, isAcknowledged: Bool = false,
    products: [String] = ["region.alps"]
  ) throws {
    let fact = StoreTransaction(
      store: .google, environment: .production, transactionID: id, originalTransactionID: id, productID: "region.alps",
      productType: type, purchaseDate: now - day, purchaseToken: "token-\(id)", isAcknowledged: isAcknowledged,
      signedDate: now - day, trust: .signed, statement: .purchased)
    let content = VerifiedEvidence(
      kind: .googlePurchase, store: .google, environment: .production, transactions: fact.split(among: products),
      signedDate: now - day)
    _ = try ledger.commit(
      [PreparedEvidence(Submission(evidence: Array(id.utf8), channel: .operatorImport), .success(content))],
      progress: nil)
  }

  static func key(_ id: String) -> TransactionKey {
    TransactionKey(store: .google, environment: .production, id: id)
  }
}
