import Foundation
import StoreSimulators
import TestSupport
import Testing

@testable import PurchaseLedger

/// What waits: evidence in quarantine, refused acknowledgements, pages behind which others are missing.
@Suite(.ownThread) struct WaitingEvidenceTests {
  private static let now = GoogleShop.now
  private static let day = GoogleShop.day
  private static let bundle = "org.example.maps"

  private static func transaction(_ id: Int, signed: Int64) -> StoreTransaction {
    StoreTransaction(
      store: .apple, environment: .production, transactionID: "\(id)", originalTransactionID: "\(id)",
      productID: "region.alps", productType: .nonConsumable, purchaseDate: now - day, ownership: .purchased,
      reason: "PURCHASE", signedDate: signed, trust: .signed, statement: .purchased)
  }

  /// A clock that was behind takes good evidence for that of the future. Nobody presents it again.
  @Test func whatWasSignedInTheFutureIsJudgedAgain() async throws {
    let (folder, authority) = (try TemporaryFolder(), try EphemeralCA())
    let path = folder.file("l.sqlite")
    let verifier = try EvidenceVerifier(
      identity: StoreIdentity(rootCertificates: [authority.rootCertificate], bundleID: Self.bundle))
    let late = try Ledger.create(at: path, policy: LedgerPolicy(), clock: .fixed(Self.now - Self.day))
    for id in 1...4 {
      // The second is of a far future.
      let signed = Self.now + (id == 2 ? 900 * Self.day : Int64(id))
      let bytes = try authority.transaction(Self.transaction(id, signed: signed), bundleID: Self.bundle)
      let submission = Submission(evidence: bytes, channel: .app)
      #expect(try await late.book(submission, with: verifier).outcome == .quarantined)
    }
    #expect(try await QuarantineReview(late, verifier: verifier).run() == 0)
    late.close()
    let ledger = try Ledger.open(at: path, policy: nil, clock: .fixed(Self.now))
    // A run judges a few, and the next one others.
    let review = QuarantineReview(ledger, verifier: verifier, piecesMax: 2)
    #expect(try await review.run() == 1)
    #expect(try await review.run() == 2)
    #expect(try await review.run() == 0)
    #expect(try ledger.quarantined().map(\.reason) == ["signed-in-future"])
    for id in [1, 3, 4] {
      let key = TransactionKey(store: .apple, environment: .production, id: "\(id)")
      #expect(try ledger.entitlement(of: key)?.status == .active)
    }
    var report = try ledger.verify()
    try await ledger.verifySignatures(with: verifier, into: &report)
    #expect(report.isClean, "\(report)")
  }

  /// A message whose signature has a form that this version does not know is kept, for a later one.
  @Test(arguments: ["certificates", "algorithm"]) func aMessageOfAnUnknownFormIsKept(_ change: String) async throws {
    let (folder, authority) = (try TemporaryFolder(), try EphemeralCA())
    let ledger = try Ledger.create(at: folder.file("l.sqlite"), policy: LedgerPolicy(), clock: .fixed(Self.now))
    let verifier = try EvidenceVerifier(
      identity: StoreIdentity(
        rootCertificates: [authority.rootCertificate], bundleID: Self.bundle, appAppleID: 7))
    let inner = try authority.transaction(Self.transaction(1, signed: Self.now), bundleID: Self.bundle)
    let message = try authority.notification(
      type: "REFUND", uuid: "u", signedDate: Self.now, environment: .production, bundleID: Self.bundle, appAppleID: 7,
      transaction: inner)
    var parts = String(decoding: message, as: UTF8.self).split(separator: ".").map(String.init)
    let header = try #require(Base64URL.decode(parts[0]))
    let text = String(decoding: header, as: UTF8.self)
    let changed =
      change == "algorithm"
      ? text.replacing("ES256", with: "ES384") : text.replacing("\"x5c\":[", with: "\"x5c\":[\"MIIB\",")
    #expect(changed != text)
    parts[0] = Base64.encodeURLText(changed.utf8)
    let bytes = Array(parts.joined(separator: ".").utf8)
    func outcome(_ channel: Submission.Channel) async throws -> Booking.Outcome {
      try await ledger.book(Submission(evidence: bytes, channel: channel), with: verifier).outcome
    }
    #expect(try await outcome(.app) == .refused)
    #expect(try await outcome(.operatorImport) == .refused)
    #expect(try await outcome(.storeNotification) == .quarantined)
    #expect(try await outcome(.storeNotification) == .quarantined)
    let kept = try ledger.quarantinedEvidence(after: 0)
    #expect(kept.map(\.bytes) == [bytes])
    // It is judged again, and stays until a version reads it.
    #expect(try await QuarantineReview(ledger, verifier: verifier).run() == 0)
    #expect(try ledger.quarantined().count == 1)
    var report = try ledger.verify()
    try await ledger.verifySignatures(with: verifier, into: &report)
    #expect(report.isClean, "\(report)")
  }

  /// The store refuses an acknowledgement because the purchase is in another state: it is asked for that state.
  @Test(arguments: [400, 404, 410], [#""acknowledgementState": 1"#, #""purchaseState": 1"#])
  func aRefusedAcknowledgementRaisesAQuestion(_ status: Int, _ state: String) async throws {
    let shop = try await GoogleShop { request in
      if request.method == "POST" { return .json(status, #"{"error": {"code": \#(status)}}"#) }
      return request.path.contains("/tokens/") ? GoogleShop.product(request, state) : nil
    }
    try await shop.with { ledger throws in
      try GoogleShop.submit("GPA.1", to: ledger)
      // Known to the store's list already, so that only the refusal asks.
      try await ledger.commits.perform { recorder in
        try recorder.db.execute(
          """
          INSERT INTO store_snapshot (store, environment, transaction_id, digest, fact, evidence)
          SELECT store, environment, transaction_id, digest, x'', x'' FROM store_transaction
          """)
      }
    }
    #expect(try await shop.pull(acknowledge: true).refusals.count >= 1)
    #expect(shop.paths("/productsv2/tokens/token-GPA.1").count == 1)
    try await shop.reconcile()
    #expect(try await shop.pull(day: 1, acknowledge: true).refusals.isEmpty)
    try await shop.with { ledger throws in
      #expect(try ledger.queue().items.isEmpty && ledger.failedQuestions().isEmpty)
      #expect(try ledger.unacknowledged(olderThan: 0).isEmpty)
    }
    try await shop.server.stop()
  }

  /// Google keeps subscriptions at another address than products.
  @Test(arguments: [
    #""subscriptionNotification": {"purchaseToken": "t", "subscriptionId": "all.year", "notificationType": 4}"#,
    #""voidedPurchaseNotification": {"purchaseToken": "t", "orderId": "GPA.S", "productType": 1, "refundType": 1}"#,
  ]) func aSubscriptionRaisesNoQuestion(_ message: String) async throws {
    let text = #"{"packageName": "\#(Self.bundle)", "eventTimeMillis": "\#(Self.now)", \#(message)}"#
    let found = try await GoogleVerifier(identity: .init(packageName: Self.bundle)).verify(
      Array(text.utf8), as: .googleNotification, context: .init(), at: Self.now, trusted: false)
    #expect(found.lookups.isEmpty && found.notes == ["subscription"])
    #expect(found.notification?.transaction != nil)
  }

  @Test(
    arguments: [
      (#"{"signedTransactions": ["x"], "hasMore": true}"#, true),
      (#"{"signedTransactions": ["x"], "hasMore": false}"#, false),
      (#"{"notificationHistory": [{"signedPayload": "x"}], "hasMore": true, "paginationToken": "p"}"#, true),
      (#"{"voidedPurchases": [], "tokenPagination": {"nextPageToken": "n"}}"#, true),
      (#"{"voidedPurchases": [], "nextPageToken": "n"}"#, true), (#"{"voidedPurchases": []}"#, false),
      (#"{"evidence": {"voidedPurchases": [], "nextPageToken": "n"}}"#, true),
      (#"{"productId": "region.alps", "purchaseToken": "t"}"#, nil), ("eyJ", nil),
    ] as [(String, Bool?)])
  func aPageTellsWhetherThereAreMore(_ page: String, _ hasMore: Bool?) async throws {
    let item = EvidenceItem(source: "f", line: 1, bytes: Array(page.utf8), isTooLarge: false)
    #expect(EvidenceWrapper.pageHasMore(item) == hasMore)
    guard let hasMore else { return }
    let folder = try TemporaryFolder()
    let identity = StoreIdentity(packageName: Self.bundle)
    let ledger = try Ledger.create(at: folder.file("l.sqlite"), policy: LedgerPolicy(), clock: .fixed(Self.now))
    let importer = EvidenceImporter(
      into: ledger, verifier: try EvidenceVerifier(identity: identity), identity: identity, clock: ledger.clock,
      defaults: .init(kind: .googleVoided)
    ) { _ in nil }
    // A page that another follows is no gap.
    for (lines, count) in [([page], hasMore ? 1 : 0), ([page, #"{"voidedPurchases": []}"#], 0)] {
      let file = try folder.write("evidence.jsonl", lines.joined(separator: "\n") + "\n")
      let unfinished = try await importer.run([file]) { _ in
      } progress: { _ in
      }
      #expect(unfinished.count == count && unfinished.allSatisfy { $0.line == 1 })
    }
  }

  /// The store no longer keeps what is to be read again, although it was read once.
  @Test func readingAgainSaysFromWhenOn() async throws {
    let shop = try await GoogleShop { _ in nil }
    try await shop.with { ledger throws in
      let client = try GooglePlayClient(
        packageName: Self.bundle, credentials: .accessToken("given"), environment: .production,
        verifier: GoogleVerifier(identity: .init(packageName: Self.bundle)), clock: .fixed(Self.now),
        baseURL: shop.server.url)
      let window = NotificationWindow(
        start: Self.now - 2 * Self.day, end: Self.now - 3_600_000, page: nil, first: Self.now - 400 * Self.day)
      let sink = PageSink(cursors: [Store.google.feedCursor(in: .production): window.text])
      let old = try await client.pullVoided(.again(Self.now - 200 * Self.day), into: sink)
      #expect(try #require(old.readFrom) > Self.now - 30 * Self.day && !old.isWindowLost)
      let new = try await client.pullVoided(.again(Self.now - 20 * Self.day), into: sink)
      #expect(new.readFrom == Self.now - 20 * Self.day)
      try await client.shutdown()
    }
    try await shop.server.stop()
  }
}
