import Crypto
import CryptoExtras
import Foundation
import MapStoreWire
import PurchaseLedger
import StoreSimulators
import TestSupport
import Testing

/// The built `mapstore serve` asks the stores about purchases before it grants them.
@Suite(.ownThread) struct ConfirmationTests {
  /// A shop that has keys of both stores, and stand-ins for their interfaces.
  private final class Stand: Sendable {
    let shop: ServerProcess.Shop
    let stores: StoreServer
    let token: String
    private let key: _RSA.Signing.PrivateKey

    init(_ answer: @escaping @Sendable (StoreServer.Request) -> StoreServer.Reply) async throws {
      shop = try ServerProcess.Shop()
      stores = try await StoreServer.start { request, _ in answer(request) }
      key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
      token = try shop.openSession().token
      try shop.folder.write("google.der", bytes: Array(key.publicKey.derRepresentation))
      try shop.folder.write("token", "given\n")
      try shop.folder.write("api.p8", P256.Signing.PrivateKey().pemRepresentation)
      try shop.folder.write(
        "store.json",
        #"""
        {"catalogue": "catalogue", "ledger": "ledger.sqlite", "port": 0, "rootCertificates": ["root.der"], \#
        "bundleId": "\#(TestStore.bundleID)", "appAppleId": 7, "packageName": "\#(TestStore.bundleID)", \#
        "googlePublicKey": "google.der", "hmacKeyFiles": ["link.key"], \#
        "google": {"accessTokenFile": "token", "baseUrl": "\#(stores.url)"}, \#
        "apple": {"issuerId": "i", "keyId": "k", "privateKey": "api.p8", "baseUrl": "\#(stores.url)"}}
        """#)
    }

    /// A purchase that is properly signed, of either store.
    func evidence(_ store: Store, id: Int) throws -> String {
      if store == .apple { return try shop.evidence(TestCatalog.regions[0], id: id) }
      let text = #"""
        {"orderId":"GPA.\#(id)","packageName":"\#(TestStore.bundleID)",\#
        "productId":"\#(TestCatalog.product(TestCatalog.regions[0]))","purchaseTime":\#(ConfirmationTests.bought),\#
        "purchaseState":0,"purchaseToken":"token-GPA.\#(id)","quantity":1,"acknowledged":true}
        """#
      let signature = try key.signature(for: Insecure.SHA1.hash(data: Data(text.utf8)), padding: .insecurePKCS1v1_5)
      let members = ["json": text, "signature": signature.rawRepresentation.base64EncodedString()]
      return String(decoding: try JSONEncoder().encode(members), as: UTF8.self)
    }

    func submit(_ evidence: [String], to server: ServerProcess) throws -> [PurchaseResult] {
      let answer = try server.buy(evidence, token: token)
      #expect(answer.status == 200)
      return try WireJSON.decode(PurchaseResults.self, from: answer.body).results
    }

    /// What `purchase-ledger queue` lists.
    func queue() throws -> [String] {
      let run = try Command(built: "purchase-ledger").run(["queue", "--ledger", shop.ledger, "--json"])
      return run.stdout.split(separator: "\n").map(String.init).filter { $0.contains("\"what\"") }
    }

    func verify() throws {
      let ledger = try Ledger.open(at: shop.ledger, policy: nil, clock: .system)
      let report = try ledger.verify()
      #expect(report.isClean, "\(report)")
      ledger.close()
    }
  }

  private static let bought = LedgerClock.system.now() - 60 * 86_400_000

  /// What a store says of a purchase.
  private static func answer(
    _ request: StoreServer.Request, authority: EphemeralCA, isRefunded: Bool
  ) throws -> StoreServer.Reply {
    let id = String(request.path.split(separator: "/").last ?? "").replacing("token-", with: "")
    let product = TestCatalog.product(TestCatalog.regions[0])
    if request.path.contains("/androidpublisher/") {
      return .json(
        """
        {"orderId": "\(id)", "purchaseStateContext": {"purchaseState": "\(isRefunded ? "CANCELLED" : "PURCHASED")"},
        "purchaseCompletionTime": "2026-01-01T00:00:00Z", "productLineItem": [{"productId": "\(product)"}]}
        """)
    }
    let now = LedgerClock.system.now()
    var fact = StoreTransaction(
      store: .apple, environment: .production, transactionID: id, originalTransactionID: id, productID: product,
      productType: .nonConsumable, purchaseDate: now - 90_000, ownership: .purchased, reason: "PURCHASE",
      signedDate: now - 1000, trust: .signed, statement: isRefunded ? .revoked : .purchased)
    if isRefunded { fact.revocation = Revocation(date: now - 30_000, reason: "1") }
    let text = String(decoding: try authority.transaction(fact, bundleID: TestStore.bundleID), as: UTF8.self)
    return .json(#"{"signedTransactionInfo": "\#(text)"}"#)
  }

  @Test(arguments: Store.allCases, [false, true])
  func whatTheStoreRefundedGrantsNothing(_ store: Store, _ isRefunded: Bool) async throws {
    let authority = Locked<EphemeralCA?>(nil)
    let stand = try await Stand { request in
      guard let authority = authority.withLock({ $0 }),
        let reply = try? Self.answer(request, authority: authority, isRefunded: isRefunded)
      else { return .json(500, "{}") }
      return reply
    }
    authority.withLock { $0 = stand.shop.authority }
    try await onThread {
      let server = try ServerProcess(stand.shop)
      let results = try stand.submit([stand.evidence(store, id: 1)], to: server)
      #expect(results.map { $0.items.map(\.entitlement) } == [[isRefunded ? .revoked : .active]], "\(results)")
      #expect(stand.stores.requests.count == 1)
      // What the store has confirmed is not asked about again.
      _ = try stand.submit([stand.evidence(store, id: 1)], to: server)
      #expect(try stand.stores.requests.count == 1 && stand.queue().isEmpty)
    }
    try stand.verify()
    try await stand.stores.stop()
  }

  @Test(arguments: Store.allCases, ["down", "quota", "forbidden", "unknown", "gateway"])
  func withoutADefiniteAnswerWhatIsSignedIsGranted(_ store: Store, _ fault: String) async throws {
    let stand = try await Stand { _ in
      switch fault {
      case "down": .json(503, "{}")
      case "quota":
        .json(429, #"{"error": {"code": 429}, "errorCode": 4290000}"#, headers: ["Retry-After": "3600"])
      case "forbidden": .json(403, #"{"error": {"code": 403}}"#)
      case "unknown": .json(404, #"{"error": {"code": 404}, "errorCode": 4040010}"#)
      default: .json(404, "<html>")
      }
    }
    try await onThread {
      let server = try ServerProcess(stand.shop)
      let results = try stand.submit([stand.evidence(store, id: 1)], to: server)
      #expect(results.map { $0.items.map(\.entitlement) } == [[.active]] && results[0].shouldFinish, "\(results)")
      let waiting = try stand.queue()
      #expect(waiting.count == 1 && waiting[0].contains(#""what":"unconfirmed""#), "\(waiting)")
    }
    try stand.verify()
    try await stand.stores.stop()
  }

  /// A store that never answers delays a submission for a few seconds, and no other request.
  @Test func aStoreThatHangsDelaysNothingElse() async throws {
    let stand = try await Stand { _ in .hang }
    try await onThread {
      let server = try ServerProcess(stand.shop)
      let answered = Locked<[PurchaseResult]?>(nil)
      let evidence = try stand.evidence(.google, id: 1)
      let token = stand.token
      let port = server.port
      Thread.detachNewThread {
        guard let body = try? WireJSON.encode(PurchaseSubmission(transactions: [evidence])),
          let answer = try? TestStore.request(
            port: port, "POST", StoreRoute.purchases.path, token: token, body: body)
        else { return }
        let results = try? WireJSON.decode(PurchaseResults.self, from: answer.body).results
        answered.withLock { $0 = results ?? [] }
      }
      #expect(eventually(seconds: 60) { stand.stores.requests.count == 1 })
      // It waits for the store, and others do not wait for it.
      #expect(try server.get("/v1/library", token: token).status == 200)
      #expect(eventually(seconds: 60) { answered.withLock { $0 != nil } })
      #expect(answered.withLock { $0?.map { $0.items.map(\.entitlement) } } == [[.active]])
      #expect(try stand.queue().count == 1)
    }
    try await stand.stores.stop()
  }

  /// The server is killed with -9 while it asks a store. What it had acknowledged is recorded, and the pending purchase
  /// is submitted again.
  @Test func killedWhileAStoreIsAsked() async throws {
    let (isHanging, authority) = (Locked(false), Locked<EphemeralCA?>(nil))
    let stand = try await Stand { request in
      if isHanging.withLock({ $0 }) { return .hang }
      guard let authority = authority.withLock({ $0 }),
        let reply = try? Self.answer(request, authority: authority, isRefunded: false)
      else { return .json(500, "{}") }
      return reply
    }
    authority.withLock { $0 = stand.shop.authority }
    try await onThread {
      let pieces = try Store.allCases.flatMap { store in try (1...3).map { try stand.evidence(store, id: $0) } }
      let server = try ServerProcess(stand.shop)
      let first = try stand.submit(Array(pieces[..<4]), to: server)
      #expect(first.allSatisfy { $0.shouldFinish }, "\(first)")
      isHanging.withLock { $0 = true }
      let before = stand.stores.requests.count
      let (port, token) = (server.port, stand.token)
      let isAnswered = Locked(false)
      Thread.detachNewThread {
        guard let body = try? WireJSON.encode(PurchaseSubmission(transactions: Array(pieces[4...]))) else { return }
        let answer = try? TestStore.request(
          port: port, "POST", StoreRoute.purchases.path, token: token, body: body)
        isAnswered.withLock { $0 = answer?.status == 200 }
      }
      #expect(eventually(seconds: 60) { stand.stores.requests.count > before })
      server.process.send(SIGKILL)
      _ = server.process.wait(timeout: 30)
      isHanging.withLock { $0 = false }
      let again = try ServerProcess(stand.shop)
      let results = try stand.submit(pieces, to: again)
      #expect(results.allSatisfy { $0.shouldFinish && $0.items[0].entitlement == .active }, "\(results)")
      #expect(results[..<4].allSatisfy { $0.outcome == .alreadyOwned }, "\(results)")
      #expect(try stand.queue().isEmpty)
    }
    try stand.verify()
    try await stand.stores.stop()
  }
}
