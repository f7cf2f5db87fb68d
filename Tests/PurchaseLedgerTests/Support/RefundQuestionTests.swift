// swift-format-ignore-file: OnlyOneTrailingClosureArgument
// The responses of the server and the checks of its requests read best as two trailing closures.

import Crypto
import Foundation
import StoreSimulators
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// Stores ask about refunds: the questions are listed with their deadlines, and answered only with consent.
@Suite(.ownThread) struct RefundQuestionTests {
  private static let hour: Int64 = 3_600_000
  private let test: TestLedger
  private let why: ActReason

  init() throws {
    test = try TestLedger()
    why = try ActReason("asked", by: "carol")
  }

  private func ask(_ fact: StoreTransaction, type: String = "CONSUMPTION_REQUEST", hoursAgo: Int64 = 1) throws {
    let note = NotificationFact(
      store: fact.store, environment: fact.environment, uuid: "u-\(fact.transactionID)", type: type, subtype: nil,
      signedDate: TestLedger.now - hoursAgo * Self.hour, transaction: fact.key)
    try test.book(fact, notification: note)
  }

  @Test func questionsAreListedUntilTheirDeadline() throws {
    try ask(.sample("1"))
    try ask(.sample("2"), hoursAgo: 13)
    try ask(.sample("GPA.3") { ($0.store, $0.purchaseToken) = (.google, "t") }, type: "pendingRefundReviewNotification")
    try ask(.sample("4"), type: "ONE_TIME_CHARGE")
    let items = try test.ledger.queue().items.filter { $0.kind == .refund }
    #expect(items.map(\.key.id) == ["1", "GPA.3"])
    #expect(items.map { $0.deadline ?? 0 } == [11, 23].map { TestLedger.now + $0 * Self.hour })
    // The default is no answer: nobody has to act.
    let queue = try test.ledger.queue()
    #expect(items.allSatisfy { !queue.isDue($0) } && queue.text.contains("due by"))
    let status = try LedgerStatus.read(test.path, clock: .fixed(TestLedger.now))
    #expect(status.refunds == 2 && status.refundsUntil == TestLedger.now + 11 * Self.hour)
    #expect(status.text.contains("refund questions: 2"))
    // What is refunded meanwhile is settled.
    try test.book(StoreTransaction.sample("1").revoked(at: TestLedger.now))
    #expect(try test.ledger.refundQuestions().map(\.key.id) == ["GPA.3"])
    let before = try test.projections()
    #expect(try test.ledger.verify().isClean)
    try test.ledger.rebuild()
    #expect(try test.projections() == before)
  }

  @Test func consentIsRecordedAndWithdrawn() throws {
    let account = try test.account()
    #expect(try test.ledger.consent(of: account) == nil)
    try test.ledger.setConsent(account, version: "2026-05", why)
    let given = try test.ledger.consent(of: account)
    #expect(given?.version == "2026-05" && given?.date == TestLedger.now)
    try test.ledger.setConsent(account, version: nil, why)
    #expect(try test.ledger.consent(of: account) == nil)
    #expect(try test.events(.act) == 2 && test.ledger.verify().isClean)
  }

  @Test func whatIsNotReportedIsNotDeclared() async throws {
    let account = try test.account()
    try test.book(.sample("1"), as: account)
    try ask(.sample("1", signed: TestLedger.now))
    try test.ledger.setConsent(account, version: "2026-05", why)
    var facts = try test.ledger.refundFacts(of: "1")
    #expect(facts.consentText == "2026-05" && !facts.isInstalled && facts.owner == account)
    try await test.ledger.recordAudit(
      kind: Ledger.installed, account: account, subject: "region.alps", outcome: "reported", detail: nil)
    facts = try test.ledger.refundFacts(of: "1")
    #expect(facts.isInstalled)
    let answer = RefundAnswer(delivery: .delivered, sampleProvided: false)
    #expect(
      answer.json.text
        == #"{"customerConsented":true,"deliveryStatus":"DELIVERED","sampleContentProvided":false}"#)
    try test.ledger.recordAnswer(to: facts.question, answer.json.text, by: "carol")
    #expect(try test.ledger.refundQuestions().isEmpty)
    #expect(throws: LedgerError.self) { try test.ledger.refundFacts(of: "1") }
    #expect(try test.ledger.history(of: "1").contains { $0.type == .act } && test.ledger.verify().isClean)
  }

  /// The requests of version 1.19 to 1.21 of Apple's interface.
  @Test func appleIsAskedAndToldAboutOnePurchase() async throws {
    let authority = try EphemeralCA()
    let bundle = "org.example.maps"
    let transaction = String(decoding: try authority.transaction(.sample("1"), bundleID: bundle), as: UTF8.self)
    let app = String(
      decoding: try authority.sign(
        """
        {"receiptType":"Production","bundleId":"\(bundle)","receiptCreationDate":\(TestLedger.now),
        "originalPurchaseDate":1600000000000,"originalApplicationVersion":"1.0","appTransactionId":"704"}
        """.utf8), as: UTF8.self)
    let snapshot = Snapshot(of: test.ledger)
    try await StoreServer.with(
      { request, _ in
        if request.path.contains("/lookup/") {
          return .json("{\"status\": 0, \"signedTransactions\": [\"\(transaction)\"]}")
        }
        if request.path.contains("/appTransactions/") { return .json("{\"signedAppTransactionInfo\": \"\(app)\"}") }
        return .json(200, "")
      },
      client: { server in
        try AppStoreClient(
          credentials: .init(
            issuerID: "i", keyID: "K", privateKey: P256.Signing.PrivateKey().pemRepresentation, bundleID: bundle),
          environment: .production,
          verifier: AppleVerifier(
            identity: .init(rootCertificates: [authority.rootCertificate], bundleID: bundle)),
          clock: .fixed(TestLedger.now), baseURL: server.url, rate: 1000, retry: .init(attemptsMax: 1))
      }, shutdown: { try await $0.shutdown() }
    ) { client, server in
      #expect(try await client.pullOrder("MX1", into: snapshot).facts.map(\.transactionID) == ["1"])
      #expect(try await client.pullAppTransaction(of: "1", into: snapshot).pieces == 1)
      let token = AccountToken.random()
      try await client.setAppAccountToken(token, of: "1")
      try await client.finish("1")
      try await client.answer(RefundAnswer(delivery: .outage, sampleProvided: true, preference: .full), about: "1")
      #expect(
        server.requests.map { "\($0.method) \($0.path)" } == [
          "GET /inApps/v1/lookup/MX1", "GET /inApps/v1/transactions/appTransactions/1",
          "PUT /inApps/v1/transactions/1/appAccountToken", "POST /inApps/v1/transactions/1/finish",
          "PUT /inApps/v2/transactions/consumption/1",
        ])
      #expect(server.requests[2].text == "{\"appAccountToken\":\"\(token)\"}")
      #expect(server.requests[4].text.contains("\"refundPreference\":\"GRANT_FULL\""))
    }
    let traits = try test.ledger.readStatement { try $0.rows("SELECT transaction_id, name FROM trait ORDER BY 1, 2") }
    #expect(try traits.contains("app:704 | originalApplicationVersion") && test.ledger.verify().isClean)
  }
}
