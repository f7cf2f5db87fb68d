import Foundation
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// Evidence that is presented again, in other forms or by other accounts.
@Suite(.ownThread) struct BookingCaseTests {
  @Test func case05_evidenceSignedInTheFutureIsQuarantined() throws {
    let test = try TestLedger()
    let fact = StoreTransaction.sample()
    let refusal = VerificationError(.signedInFuture, "signed tomorrow")
    let first = try test.book(fact, quarantine: refusal)
    #expect(first.outcome == .quarantined && first.reason == refusal)
    #expect(try test.events(.quarantine) == 1 && test.events(.transaction) == 0)
    #expect(try test.count("SELECT count(*) FROM evidence WHERE outcome = 2") == 1)
    #expect(try test.status("1") == nil)
    // Presented again before the date and after it.
    #expect(try test.book(fact, quarantine: refusal).outcome == .quarantined)
    #expect(try test.events(.quarantine) == 1)
    #expect(try test.book(fact).outcome == .accepted)
    #expect(try test.status("1") == .active)
    #expect(try test.count("SELECT count(*) FROM evidence WHERE outcome = 2") == 0)
  }

  @Test func case06_oneTransactionPostedAHundredTimesIsRecordedOnce() async throws {
    let test = try TestLedger()
    let account = try test.account()
    let content = try TestLedger.piece([.sample()]).1.get()
    let bookings = try await withThrowingTaskGroup(of: Booking.self) { group in
      for _ in 0..<100 {
        group.addTask {
          let submission = Submission(evidence: Array("the same bytes".utf8), account: account, channel: .app)
          return try await test.ledger.book(submission) { _, _ throws(VerificationError) in content }
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(bookings.filter { $0.outcome == .accepted }.count == 1)
    #expect(bookings.filter { $0.outcome == .duplicate }.count == 99)
    #expect(bookings.allSatisfy { $0.entitlements.first?.account == account })
    #expect(try test.events(.transaction) == 1 && test.events(.claim) == 1)
    #expect(try test.count("SELECT count(*) FROM entitlement WHERE status = 1") == 1)
    #expect(try test.count("SELECT count(*) FROM evidence") == 1)
  }

  @Test func case07_otherBytesOfARecordedTransactionAddNoEvent() throws {
    let test = try TestLedger()
    #expect(try test.book(.sample(), bytes: Array("e30.e30.signature".utf8)).outcome == .accepted)
    #expect(try test.book(.sample(), bytes: Array("e30.e30.signature==".utf8)).outcome == .duplicate)
    #expect(try test.events(.transaction) == 1)
    #expect(try test.count("SELECT count(*) FROM evidence") == 1)
  }

  @Test func case08_aRestoredCopySharesTheGrantAndAddsNoRevenue() throws {
    let test = try TestLedger()
    try test.book(.sample("1"))
    try test.book(.sample("2", original: "1") { $0.purchaseDate += TestLedger.day })
    #expect(try test.count("SELECT count(*) FROM entitlement") == 1)
    #expect(try test.amounts("1") == [1: 1099])
    #expect(try test.amounts("2") == [1: 0])
  }

  @Test func case14_aSandboxTransactionIsRecordedSeparatelyAndGrantsNothing() throws {
    let test = try TestLedger()
    let account = try test.account()
    let booking = try test.book(.sample { $0.environment = .sandbox }, as: account)
    #expect(booking.outcome == .accepted && booking.notes.contains("sandbox"))
    #expect(booking.entitlements.map(\.status) == [.withheld] && booking.entitlements[0].reason == "sandbox")
    #expect(try test.count("SELECT debit FROM posting") == 11)
    #expect(try test.count("SELECT credit FROM posting") == 12)
    #expect(try test.ledger.owner(of: "region.alps", by: account)?.status == .withheld)
  }

  /// The notes follow the ledger's environment, not the verifier's.
  @Test func aSandboxLedgerGrantsTestPurchases() throws {
    let test = try TestLedger { $0.environment = .sandbox }
    let account = try test.account()
    var piece = TestLedger.piece([.sample { $0.environment = .sandbox }], nil, account)
    piece.1 = piece.1.map { content in
      var content = content
      content.notes = ["sandbox"]
      return content
    }
    let booking = try test.ledger.commit([piece], progress: nil)[0]
    #expect(booking.entitlements.map(\.status) == [.active])
    #expect(booking.notes.isEmpty && booking.reason == nil)
    let real = try test.book(.sample("2"), as: account)
    #expect(real.entitlements.map(\.status) == [.withheld])
    #expect(real.notes == ["production"] && real.reason?.message.contains("grants nothing") == true)
  }

  @Test func case26_anUnknownNotificationIsStoredAndChangesNothing() throws {
    let test = try TestLedger()
    let before = try test.projections()
    let notification = NotificationFact(
      store: .apple, environment: .production, uuid: "u1", type: "SOMETHING_NEW", subtype: "WITH_A_SUBTYPE",
      signedDate: TestLedger.now, transaction: nil)
    let booking = try test.book(notification: notification, channel: .storeNotification)
    #expect(booking.outcome == .accepted)
    #expect(try test.projections() == before)
    let stored = try test.ledger.read { db in
      try db.cached("SELECT \(LedgerEvent.columns) FROM event ORDER BY seq DESC LIMIT 1")
        .first { try LedgerEvent($0, in: "") }
    }
    #expect(stored?.content == .notification(notification))
  }

  @Test func case35_aRedeliveryAfterTheCommitGrantsOnce() throws {
    let test = try TestLedger()
    let notification = NotificationFact(
      store: .apple, environment: .production, uuid: "u1", type: "ONE_TIME_CHARGE", subtype: nil,
      signedDate: TestLedger.now, transaction: StoreTransaction.sample().key)
    #expect(try test.book(.sample(), notification: notification).outcome == .accepted)
    // The process is killed before it answers; the store redelivers the message to the next one.
    let again = try Ledger.open(at: test.path, policy: nil, clock: .fixed(TestLedger.now))
    let piece = TestLedger.piece([.sample()], notification)
    #expect(try again.commit([piece], progress: nil)[0].outcome == .duplicate)
    #expect(try test.events(.transaction) == 1 && test.events(.notification) == 1)
    #expect(try test.count("SELECT count(*) FROM entitlement") == 1)
  }

  @Test func case36_aCancelledPendingPurchaseGrantsNothingAndAnApprovedOneGrantsOnce() throws {
    let test = try TestLedger()
    let account = try test.account()
    func google(_ statement: Statement) -> StoreTransaction {
      .sample("GPA.1") {
        $0.store = .google
        $0.statement = statement
      }
    }
    let pending = try test.book(google(.pending), as: account)
    #expect(pending.entitlements.map(\.status) == [.pending])
    #expect(try test.count("SELECT count(*) FROM posting") == 0)
    #expect(try test.book(google(.purchased), as: account).entitlements.map(\.status) == [.active])
    #expect(try test.book(google(.pending), as: account).outcome == .duplicate)
    #expect(try test.ledger.entitlements(of: account).map(\.status) == [.active])
  }

  @Test func case41_aConsumableWithARegionsProductIDIsHeld() throws {
    let test = try TestLedger()
    let account = try test.account()
    for (id, type) in [("1", ProductType.consumable), ("2", .autoRenewable), ("3", .nonRenewing)] {
      let booking = try test.book(.sample(id) { $0.productType = type }, as: account)
      #expect(booking.outcome == .accepted && booking.entitlements.map(\.status) == [.held])
    }
    #expect(try test.ledger.owner(of: "region.alps", by: account)?.status == .held)
    #expect(try test.ledger.entitlements(of: account).count == 3)
  }
}
