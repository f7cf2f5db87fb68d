import Foundation
import TestSupport
import Testing

@testable import PurchaseLedger

/// Refunds and their reversals, in any order.
@Suite(.ownThread) struct RefundCaseTests {
  static let refundDate = TestLedger.now - 2 * TestLedger.day

  private func notification(_ type: String, _ uuid: String = UUID().uuidString) -> NotificationFact {
    NotificationFact(
      store: .apple, environment: .production, uuid: uuid, type: type, subtype: nil, signedDate: Self.refundDate,
      transaction: StoreTransaction.sample().key)
  }

  @Test func case19_aPurchaseThatArrivesAfterItsRefundIsRevoked() throws {
    let test = try TestLedger()
    let a = try test.account()
    let old = StoreTransaction.sample(signed: TestLedger.now - 9 * TestLedger.day)
    try test.book(old.revoked(at: Self.refundDate), notification: notification("REFUND"), channel: .storeNotification)
    #expect(try test.status("1") == .revoked)
    let booking = try test.book(old, as: a)
    #expect(booking.outcome == .accepted && booking.entitlements.map(\.status) == [.revoked])
    #expect(try test.amounts("1") == [1: 1099, 2: 1099])
  }

  /// What an account owned at a time, by what is known now.
  @Test func ownershipAtATimeLeavesOutLaterRefundsAndPurchases() throws {
    let test = try TestLedger()
    let (anna, carl) = (try test.account(), try test.account())
    let sale = StoreTransaction.sample(signed: TestLedger.now - 9 * TestLedger.day)
    try test.book(sale, as: anna)
    try test.book(sale.revoked(at: Self.refundDate), channel: .storeNotification)
    func states(_ account: AccountID, daysAgo: Int64) throws -> [Entitlement.Status] {
      try test.ledger.entitlements(of: account, asOf: TestLedger.now - daysAgo * TestLedger.day).map(\.status)
    }
    #expect(try states(anna, daysAgo: 11).isEmpty)
    #expect(try states(anna, daysAgo: 5) == [.active])
    #expect(try states(anna, daysAgo: 1) == [.revoked])
    #expect(try states(carl, daysAgo: 5).isEmpty)
    #expect(try test.ledger.entitlements(of: anna).map(\.status) == [.revoked])
  }

  @Test func case20_aCopySignedBeforeTheRefundChangesNothing() throws {
    let test = try TestLedger()
    let old = StoreTransaction.sample(signed: TestLedger.now - 9 * TestLedger.day)
    try test.book(old)
    try test.book(old.revoked(at: Self.refundDate))
    let before = try test.projections()
    #expect(try test.book(old, bytes: [1, 2, 3]).outcome == .duplicate)
    // Signed again, still before the refund: a new event that changes nothing.
    let stale = StoreTransaction.sample(signed: Self.refundDate - 1)
    #expect(try test.book(stale).outcome == .accepted)
    #expect(try test.projections() == before)
  }

  @Test(arguments: [false, true])
  func case21_aReversedRefundGrantsInBothOrders(_ isReversalFirst: Bool) throws {
    let test = try TestLedger()
    let old = StoreTransaction.sample(signed: TestLedger.now - 9 * TestLedger.day)
    let refund = old.revoked(at: Self.refundDate)
    var reversal = old
    reversal.statement = .reversed
    reversal.signedDate = refund.signedDate
    try test.book(old)
    for (fact, type) in isReversalFirst
      ? [(reversal, "REFUND_REVERSED"), (refund, "REFUND")] : [(refund, "REFUND"), (reversal, "REFUND_REVERSED")]
    {
      try test.book(fact, notification: notification(type), channel: .storeNotification)
    }
    #expect(try test.status("1") == .active)
    #expect(try test.amounts("1") == [1: 1099])
  }

  @Test func case23_aFamilyRevokeEndsOnlyThatMembersGrant() throws {
    let test = try TestLedger()
    let family = StoreTransaction.sample("2") { $0.ownership = .familyShared }
    try test.book(.sample("1"))
    try test.book(family)
    try test.book(family.revoked(at: TestLedger.now, type: "FAMILY_REVOKE"), notification: notification("REVOKE"))
    #expect(try test.status("1") == .active)
    #expect(try test.status("2") == .revoked)
    let key = TransactionKey(store: .apple, environment: .production, id: "2")
    #expect(try test.ledger.entitlement(of: key)?.reason == "family-revoke")
    #expect(try test.amounts("2") == [1: 0, 2: 0])
  }

  @Test(arguments: [LedgerPolicy.PartialRefund.keep, .revoke])
  func case24_aPartialRefundFollowsThePolicyAndIsRecorded(_ policy: LedgerPolicy.PartialRefund) throws {
    let test = try TestLedger { $0.partialRefund = policy }
    try test.book(.sample())
    try test.book(StoreTransaction.sample().revoked(at: TestLedger.now, percentageMilli: 50_000))
    #expect(try test.status("1") == (policy == .keep ? .active : .revoked))
    #expect(try test.events(.decision) == 1)
    // Half of 10.99 is 5.495, rounded half to even.
    #expect(try test.amounts("1") == [1: 1099, 2: 550])
    let key = TransactionKey(store: .apple, environment: .production, id: "1")
    #expect(try test.ledger.entitlement(of: key)?.refundedMilli == (policy == .keep ? 50_000 : 0))
  }

  @Test func aChangedPolicyComputesEveryGrantAgain() throws {
    let test = try TestLedger()
    try test.book(StoreTransaction.sample().revoked(at: TestLedger.now, percentageMilli: 50_000))
    #expect(try test.status("1") == .active)
    var policy = LedgerPolicy()
    policy.partialRefund = .revoke
    let ledger = try Ledger.open(at: test.path, policy: policy, clock: .fixed(TestLedger.now))
    #expect(try ledger.policy.partialRefund == .revoke)
    #expect(try test.status("1") == .revoked)
    _ = try Ledger.open(at: test.path, policy: LedgerPolicy(), clock: .fixed(TestLedger.now))
    #expect(try test.status("1") == .active)
    #expect(try test.count("SELECT count(*) FROM event WHERE type = 6") == 13)
  }

  @Test func case25_consumptionRequestsChangeNothing() throws {
    let test = try TestLedger()
    try test.book(.sample())
    func projections() throws -> [String: [String]] { try test.projections().filter { $0.key != "refund_question" } }
    let before = try projections()
    for index in 1...5 {
      let request = notification("CONSUMPTION_REQUEST", "u\(index)")
      #expect(try test.book(.sample(), notification: request, channel: .storeNotification).outcome == .accepted)
    }
    #expect(try test.events(.notification) == 5 && test.events(.transaction) == 1)
    #expect(try projections() == before)
  }

  @Test func case37_aPurchaseIsListedUntilItIsAcknowledgedOrRefunded() async throws {
    let test = try TestLedger()
    func google(_ id: String, daysAgo: Int64) -> StoreTransaction {
      .sample(id) {
        $0.store = .google
        $0.purchaseDate = TestLedger.now - daysAgo * TestLedger.day
        $0.purchaseToken = "token-\(id)"
      }
    }
    for (id, days) in [("GPA.1", 3), ("GPA.2", 2), ("GPA.3", 0)] as [(String, Int64)] {
      try test.book(google(id, daysAgo: days))
    }
    #expect(try test.ledger.unacknowledged(olderThan: 0).map(\.key.id) == ["GPA.1", "GPA.2", "GPA.3"])
    #expect(
      try test.ledger.unacknowledged(olderThan: TestLedger.day).map(\.purchaseToken) == ["token-GPA.1", "token-GPA.2"])
    try await test.ledger.recordAcknowledgement(google("GPA.2", daysAgo: 2).key)
    try await test.ledger.recordAcknowledgement(google("GPA.9", daysAgo: 2).key)
    #expect(try test.events(.acknowledgement) == 1)
    // Google's voided list contains the first purchase.
    try test.book(google("GPA.1", daysAgo: 3).revoked(at: TestLedger.now))
    #expect(try test.ledger.unacknowledged(olderThan: 0).map(\.key.id) == ["GPA.3"])
    #expect(try test.status("GPA.1", store: .google) == .revoked)
  }

  @Test func case38_theVoidedListOutranksAResourceThatSaysPurchased() throws {
    let test = try TestLedger()
    let purchase = StoreTransaction.sample("GPA.1") {
      $0.store = .google
      $0.signedDate = $0.purchaseDate
    }
    var voided = purchase.revoked(at: Self.refundDate)
    voided.productID = nil
    voided.price = nil
    for order in [[purchase, voided], [voided, purchase]] {
      let test = try TestLedger()
      for fact in order { try test.book(fact) }
      #expect(try test.status("GPA.1", store: .google) == .revoked)
      #expect(try test.amounts("GPA.1") == [1: 1099, 2: 1099])
    }
    // The same with equal dates.
    voided.signedDate = purchase.signedDate
    try test.book(voided)
    try test.book(purchase)
    #expect(try test.status("GPA.1", store: .google) == .revoked)
  }

  @Test func aRefundRevokesRestoresAndNotALaterPurchase() throws {
    let test = try TestLedger()
    let original = StoreTransaction.sample("1")
    try test.book(.sample("2", original: "1") { $0.purchaseDate = Self.refundDate })
    try test.book(original.revoked(at: Self.refundDate))
    #expect(try test.status("1") == .revoked)
    try test.book(.sample("3", original: "1") { $0.purchaseDate = Self.refundDate + 1 })
    #expect(try test.status("1") == .active)
  }

  /// A purchase after a refund is paid again. A restore from before the refund adds no revenue.
  @Test(arguments: [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [3, 1, 0, 2]], [false, true])
  func aPurchaseAfterARefundIsRevenueAgain(_ order: [Int], _ isOneCommit: Bool) throws {
    let test = try TestLedger()
    let first = StoreTransaction.sample("1")
    let facts = [
      first, first.revoked(at: Self.refundDate, signed: TestLedger.now - 1000),
      .sample("2", original: "1") { $0.purchaseDate = Self.refundDate - 1 },
      .sample("3", original: "1") { $0.purchaseDate = Self.refundDate + 1 },
    ]
    if isOneCommit {
      _ = try test.ledger.commit(order.map { TestLedger.piece([facts[$0]]) }, progress: nil)
    } else {
      for index in order { try test.book(facts[index]) }
    }
    #expect(try test.status("1") == .active)
    #expect(try test.amounts("1") == [1: 1099, 2: 1099])
    #expect(try test.amounts("2") == [1: 0] && test.amounts("3") == [1: 1099])
    #expect(try test.ledger.verify().isClean)
    // The store reverses the refund: the third purchase was made although the first was owned.
    var reversed = first
    (reversed.statement, reversed.signedDate) = (.reversed, TestLedger.now)
    try test.book(reversed)
    #expect(try test.amounts("3") == [1: 0] && test.ledger.verify().isClean)
  }

  /// Only a transaction that is its own original was paid for, so the refund of a copy does not make later purchases
  /// revenue.
  @Test(arguments: [[0, 1], [1, 0]], [false, true])
  func aCopyOfACopyAddsNoRevenue(_ order: [Int], _ isOneCommit: Bool) throws {
    let test = try TestLedger()
    let facts = [
      StoreTransaction.sample("2", original: "1").revoked(at: Self.refundDate),
      .sample("3", original: "2") { $0.purchaseDate = Self.refundDate + 1 },
    ]
    if isOneCommit {
      _ = try test.ledger.commit(order.map { TestLedger.piece([facts[$0]]) }, progress: nil)
    } else {
      for index in order { try test.book(facts[index]) }
    }
    #expect(try test.amounts("3") == [1: 0])
    #expect(try test.ledger.verify().isClean)
  }

  /// A receipt does not state that the refunded transaction is a copy itself.
  @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
  func anOriginalThatTurnsOutToBeACopyIsACopy(_ order: [Int]) throws {
    let test = try TestLedger()
    let facts = [
      StoreTransaction.sample("2").revoked(at: Self.refundDate),
      .sample("3", original: "2") { $0.purchaseDate = Self.refundDate + 1 },
      StoreTransaction.sample("2", original: "1").revoked(at: Self.refundDate),
    ]
    for index in order { try test.book(facts[index]) }
    #expect(try test.amounts("3") == [1: 0])
    #expect(try test.ledger.verify().isClean)
  }
}
