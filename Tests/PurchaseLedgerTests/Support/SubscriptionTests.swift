import Foundation
import StoreSimulators
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// Subscriptions entitle to their product while they run, where a policy says so.
@Suite(.ownThread) struct SubscriptionTests {
  private static let day = TestLedger.day
  private static let start = TestLedger.now - 10 * day
  private static let end = TestLedger.now + 20 * day
  private let test: TestLedger
  private let account: AccountID

  init() throws {
    test = try TestLedger { $0.subscriptions = .grant }
    account = try test.account()
  }

  private static func period(
    _ id: String = "1", from: Int64 = start, until: Int64? = end, _ change: (inout StoreTransaction) -> Void = { _ in }
  ) -> StoreTransaction {
    .sample(id, original: "1", signed: from) {
      ($0.productID, $0.productType) = ("sub.alps", .autoRenewable)
      ($0.purchaseDate, $0.expiresDate) = (from, until)
      change(&$0)
    }
  }

  private func entitlement(at time: Int64) throws -> Entitlement? {
    let ledger = try Ledger.openToRead(at: test.path, clock: .fixed(time))
    defer { ledger.close() }
    return try ledger.entitlements(of: account).first
  }

  private func say(_ name: TransactionTrait.Name, _ value: String, at date: Int64) throws {
    try test.ledger.write { recorder in
      let key = TransactionKey(store: .apple, environment: .production, id: "1")
      _ = try recorder.append(.trait(TransactionTrait(key: key, name, value, date: date)))
    }
  }

  private func expectFolded() throws {
    let before = try test.projections()
    #expect(try test.ledger.verify().isClean)
    try test.ledger.rebuild()
    #expect(try test.projections() == before)
  }

  @Test func itEndsAndIsRenewed() throws {
    try test.book(Self.period(), as: account)
    let running = try #require(try entitlement(at: TestLedger.now))
    #expect(running.status == .active && running.until == Self.end && running.reason == "subscription")
    #expect(try entitlement(at: Self.end)?.status == .expired)
    try test.book(Self.period("2", from: Self.end, until: Self.end + 30 * Self.day))
    #expect(try entitlement(at: Self.end)?.status == .active)
    #expect(try entitlement(at: Self.end)?.until == Self.end + 30 * Self.day)
    try expectFolded()
  }

  /// The latest of what the store said counts, in whichever order it came.
  @Test(arguments: [true, false]) func aGracePeriodGoesOnAndEnds(isLateLast: Bool) throws {
    try test.book(Self.period(), as: account)
    let grace = Self.end + 6 * Self.day
    let steps: [() throws -> Void] = [
      {
        try say(.graceUntil, "\(grace)", at: Self.end)
        try say(.billingRetry, "true", at: Self.end)
      }, { try say(.graceUntil, "0", at: Self.end - Self.day) },
    ]
    for step in isLateLast ? steps.reversed() : steps { try step() }
    let waiting = try #require(try entitlement(at: Self.end + Self.day))
    #expect(waiting.status == .active && waiting.until == grace && waiting.reason == "billing-retry")
    #expect(try entitlement(at: grace)?.status == .expired)
    try expectFolded()
  }

  @Test func anUpgradeCountsAndARefundEndsIt() throws {
    try test.book(Self.period(), as: account)
    let upgrade = Self.period("2", from: Self.start + Self.day, until: Self.end - 5 * Self.day) {
      $0.productID = "sub.world"
    }
    try test.book(upgrade)
    let upgraded = try #require(try entitlement(at: TestLedger.now))
    #expect(upgraded.productID == "sub.world" && upgraded.until == Self.end - 5 * Self.day)
    try test.book(upgrade.revoked(at: TestLedger.now), Self.period().revoked(at: TestLedger.now))
    #expect(try entitlement(at: TestLedger.now)?.status == .revoked)
    try expectFolded()
  }

  /// As in ledgers without the policy, and for what states no end.
  @Test func withoutThePolicyOrAnEndItGrantsNothing() throws {
    try test.book(Self.period(until: nil) { $0.productType = .nonRenewing }, as: account)
    #expect(try entitlement(at: TestLedger.now)?.status == .held)
    try test.book(Self.period("1", from: Self.start + 1))
    #expect(try entitlement(at: TestLedger.now)?.status == .active)
    var policy = try test.ledger.policy
    policy.subscriptions = .hold
    _ = try test.ledger.change(to: policy)
    #expect(try entitlement(at: TestLedger.now)?.status == .held)
    try expectFolded()
  }

  /// Renewal info is a part of Apple's notifications.
  @Test func renewalInfoOfANotificationIsRecorded() async throws {
    let authority = try EphemeralCA()
    let verifier = try EvidenceVerifier(
      identity: StoreIdentity(rootCertificates: [authority.rootCertificate], bundleID: "org.example.maps"))
    let renewal = try authority.sign(
      """
      {"originalTransactionId":"1","autoRenewProductId":"sub.alps","autoRenewStatus":1,"environment":"Production",
      "isInBillingRetryPeriod":true,"gracePeriodExpiresDate":\(Self.end + 1000),"signedDate":\(TestLedger.now)}
      """.utf8)
    let note = try authority.notification(
      type: "DID_FAIL_TO_RENEW", subtype: "GRACE_PERIOD", uuid: "u", signedDate: TestLedger.now,
      environment: .production, bundleID: "org.example.maps",
      transaction: authority.transaction(Self.period(), bundleID: "org.example.maps"), renewal: renewal)
    let booking = try await test.ledger.book(
      Submission(evidence: note, account: account, channel: .operatorImport), with: verifier)
    #expect(booking.outcome == .accepted)
    #expect(try entitlement(at: Self.end)?.until == Self.end + 1000)
    var report = try test.ledger.verify()
    try await test.ledger.verifySignatures(with: verifier, into: &report)
    #expect(report.isClean, "\(report.findings)")
  }
}
