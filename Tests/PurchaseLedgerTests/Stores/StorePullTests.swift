import Foundation
import PurchaseLedger
import StoreSimulators
import Synchronization
import TestSupport
import Testing

/// Pulling from a test server, up to the recorded events.
@Suite(.ownThread) struct StorePullTests {
  static let now: Int64 = 1_790_000_000_000
  static let day: Int64 = 86_400_000
  static let application = "/androidpublisher/v3/applications/org.example.maps/purchases"

  private func google(_ server: StoreServer, now: Int64) throws -> GooglePlayClient {
    try GooglePlayClient(
      packageName: "org.example.maps", credentials: .accessToken("given"), environment: .production,
      verifier: GoogleVerifier(identity: .init(packageName: "org.example.maps")), clock: .fixed(now),
      baseURL: server.url, rate: 1000, retry: .init(attemptsMax: 2, firstDelay: 0.01))
  }

  private func purchase(_ id: String) throws -> PreparedEvidence {
    let fact = StoreTransaction(
      store: .google, environment: .production, transactionID: id, originalTransactionID: id, productID: "region.alps",
      purchaseDate: Self.now - 5 * Self.day, purchaseToken: "token-\(id)", signedDate: Self.now - 5 * Self.day,
      trust: .unsigned, statement: .purchased)
    let content = VerifiedEvidence(
      kind: .googleProduct, store: .google, environment: .production, transactions: [fact], signedDate: fact.signedDate)
    return PreparedEvidence(Submission(evidence: Array(id.utf8), channel: .operatorImport), .success(content))
  }

  /// Responds with an empty voided list and unchanged purchases, except that the second is cancelled.
  private func answer(_ request: StoreServer.Request) -> StoreServer.Reply {
    if request.path.hasSuffix("/voidedpurchases") { return .json("{}") }
    if request.path.hasSuffix("/orders:batchGet") { return GoogleShop.orders(request) }
    if request.method == "POST" { return .json("") }
    let id = String(request.path.split(separator: "/").last ?? "").replacingOccurrences(of: "token-", with: "")
    return .json(
      "{\"kind\": \"androidpublisher#productPurchase\", \"purchaseTimeMillis\": \"\(Self.now - 5 * Self.day)\","
        + " \"orderId\": \"\(id)\", \"purchaseState\": \(id == "GPA.2" ? 1 : 0)}")
  }

  @Test func case39_afterALostWindowEveryPurchaseIsQueried() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("ledger.sqlite")
    let server = try await StoreServer.start { request, _ in StorePullTests().answer(request) }
    let ledger = try Ledger.create(at: path, policy: LedgerPolicy(), clock: .fixed(Self.now))
    _ = try ledger.commit([purchase("GPA.1"), purchase("GPA.2")], progress: nil)
    let first = try google(server, now: Self.now)
    let early = try await StorePull(ledger: ledger, clock: .fixed(Self.now)).google(
      first, .since(Self.now - Self.day), everyone: false, acknowledge: false
    ) { _, _ in }
    try await first.shutdown()
    #expect(!early.isWindowLost && server.requests.count == 1)

    let later = Self.now + 31 * Self.day
    let reopened = try Ledger.open(at: path, policy: nil, clock: .fixed(later))
    let second = try google(server, now: later)
    let report = try await StorePull(ledger: reopened, clock: .fixed(later)).google(
      second, .since(Self.now), everyone: false, acknowledge: false
    ) { _, _ in }
    try await second.shutdown()
    #expect(report.isWindowLost)
    #expect(
      Set(server.requests.map(\.path).filter { $0.contains("/tokens/") }) == [
        "\(Self.application)/productsv2/tokens/token-GPA.1", "\(Self.application)/productsv2/tokens/token-GPA.2",
      ])
    // The refund that is no longer on the list is found, and the gap is closed, so the report does not ask for another
    // pull.
    let dry = try Reconciler(ledger: reopened).run(apply: false)
    #expect(dry[.stateDiffers] == 1 && dry.windowLostSince == nil)
    let found = try Reconciler(ledger: reopened).run(apply: true)
    #expect(found[.stateDiffers] == 1 && found.applied >= 1 && found.isAgreed, "\(found)")
    #expect(try Reconciler(ledger: reopened).run(apply: false).isAgreed)
    let grant = TransactionKey(store: .google, environment: .production, id: "GPA.2")
    #expect(try reopened.entitlement(of: grant)?.status == .revoked)
    try await server.stop()
  }

  /// A pull without all answers leaves the gap open: the next one queries every purchase, although the list is up to
  /// date.
  @Test func aLostWindowPersistsUntilEveryPurchaseWasQueried() async throws {
    let folder = try TemporaryFolder()
    let failures = Mutex(0)
    let server = try await StoreServer.start { request, _ in
      if request.path.hasSuffix("token-GPA.2"),
        failures.withLock({
          $0 += 1
          return $0 <= 2
        })
      {
        return .json(503, "{}")
      }
      return StorePullTests().answer(request)
    }
    let path = folder.file("ledger.sqlite")
    let ledger = try Ledger.create(at: path, policy: LedgerPolicy(), clock: .fixed(Self.now))
    _ = try ledger.commit([purchase("GPA.1"), purchase("GPA.2")], progress: nil)
    func pull(_ now: Int64) async throws -> (PullReport?, ReconcileReport) {
      let opened = try Ledger.open(at: path, policy: nil, clock: .fixed(now))
      let client = try google(server, now: now)
      let report = try? await StorePull(ledger: opened, clock: .fixed(now)).google(
        client, .since(now - Self.day), everyone: false, acknowledge: false
      ) { _, _ in }
      try await client.shutdown()
      return (report, try Reconciler(ledger: opened).run(apply: false))
    }
    #expect(try await pull(Self.now).0?.isWindowLost == false)
    let later = Self.now + 31 * Self.day
    let stopped = try await pull(later)
    #expect(stopped.0?.refusals.count == 1 && stopped.1.windowLostSince == Self.now - 60_000)
    let opened = try Ledger.open(at: path, policy: nil, clock: .fixed(later))
    #expect(try Reconciler(ledger: opened).run(apply: true).windowLostSince == Self.now - 60_000)
    #expect(try Reconciler(ledger: opened).run(apply: false).windowLostSince == Self.now - 60_000)
    let whole = try await pull(later + 1000)
    #expect(whole.0?.isWindowLost == true && whole.1.windowLostSince == nil)
    #expect(try await pull(later + 2000).0?.isWindowLost == false)
    try await server.stop()
  }

  /// A forged hint names a purchase that the store does not know. Later look-ups and acknowledgements are sent. The
  /// look-up waits for another answer, because the store may not know it yet, and is dropped in the end.
  @Test(arguments: [400, 404, 410]) func anUnknownLookUpDoesNotBlockTheQueue(status: Int) async throws {
    let folder = try TemporaryFolder()
    let server = try await StoreServer.start { request, _ in
      if request.path.contains("forged") { return .json(status, "{\"error\": {\"code\": \(status)}}") }
      // The current interface needs the token alone.
      guard request.path.hasSuffix("/productsv2/tokens/token-nameless") else { return StorePullTests().answer(request) }
      return .json(
        """
        {"orderId": "nameless", "purchaseStateContext": {"purchaseState": "PURCHASED"},
        "purchaseCompletionTime": "2026-09-20T00:00:00Z", "productLineItem": [{"productId": "region.etna"}]}
        """)
    }
    let ledger = try Ledger.create(at: folder.file("ledger.sqlite"), policy: LedgerPolicy(), clock: .fixed(Self.now))
    _ = try ledger.commit([purchase("GPA.1")], progress: nil)
    let hints = [("forged", "region.alps"), ("GPA.7", "region.alps"), ("nameless", nil)].map { id, product in
      LookupHint(
        key: TransactionKey(store: .google, environment: .production, id: id), productID: product,
        purchaseToken: "token-\(id)")
    }
    let message = VerifiedEvidence(
      kind: .googleNotification, store: .google, environment: .production, lookups: hints, signedDate: Self.now)
    _ = try ledger.commit(
      [PreparedEvidence(Submission(evidence: [1], channel: .operatorImport), .success(message))], progress: nil)
    #expect(try ledger.lookups().count == 3)
    let client = try google(server, now: Self.now)
    let report = try await StorePull(ledger: ledger, clock: .fixed(Self.now)).google(
      client, .since(Self.now - Self.day), everyone: false, acknowledge: true
    ) { _, _ in }
    try await client.shutdown()
    #expect(report.refusals.count == 1 && report.refusals[0].code == .storeRefused, "\(report)")
    #expect(server.requests.contains { $0.path.hasSuffix("/token-GPA.7") })
    #expect(try ledger.unacknowledged(olderThan: 0).isEmpty)
    var nights = 0
    while try ledger.lookups().map(\.key.id) == ["forged"], nights < 30 {
      nights += 1
      let now = Self.now + Int64(nights) * Self.day
      let later = try Ledger.open(at: folder.file("ledger.sqlite"), policy: nil, clock: .fixed(now))
      let client = try google(server, now: now)
      _ = try await StorePull(ledger: later, clock: .fixed(now)).google(
        client, .since(now - Self.day), everyone: false, acknowledge: true
      ) { _, _ in }
      try await client.shutdown()
      later.close()
    }
    #expect(try nights == 7 && ledger.lookups().isEmpty && ledger.failedQuestions().isEmpty)
    try await server.stop()
  }

  @Test func case37_unacknowledgedPurchasesAreAcknowledged() async throws {
    let folder = try TemporaryFolder()
    let server = try await StoreServer.start { request, _ in StorePullTests().answer(request) }
    let ledger = try Ledger.create(
      at: folder.file("ledger.sqlite"), policy: LedgerPolicy(), clock: .fixed(Self.now))
    _ = try ledger.commit([purchase("GPA.1")], progress: nil)
    #expect(try ledger.unacknowledged(olderThan: 0).map(\.key.id) == ["GPA.1"])
    let client = try google(server, now: Self.now)
    _ = try await StorePull(ledger: ledger, clock: .fixed(Self.now)).google(
      client, .since(Self.now - Self.day), everyone: false, acknowledge: true
    ) { _, _ in }
    // Before anything else, because it has a deadline.
    #expect(
      server.requests.first?.path == "\(Self.application)/products/region.alps/tokens/token-GPA.1:acknowledge")
    #expect(try ledger.unacknowledged(olderThan: 0).isEmpty)
    try await client.shutdown()
    try await server.stop()
  }
}
