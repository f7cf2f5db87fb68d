import Accounts
import Foundation
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// Google purchases that get an order id later, and partial refunds.
@Suite(.ownThread) struct GooglePurchaseTests {
  private static let bought = TestLedger.now - 10 * TestLedger.day

  private func purchase(
    _ id: String, _ statement: PurchaseLedger.Statement = .purchased, quantity: Int64 = 1, token: AccountToken? = nil
  ) -> StoreTransaction {
    .sample(id) {
      $0.store = .google
      $0.statement = statement
      $0.purchaseToken = "a-long-token-1"
      $0.signedDate = $0.purchaseDate
      $0.quantity = quantity
      $0.appAccountToken = token
    }
  }

  private func voided(_ id: String, pieces: Int64, day: Int64) -> StoreTransaction {
    let date = Self.bought + day * TestLedger.day
    return StoreTransaction(
      store: .google, environment: .production, transactionID: id, originalTransactionID: id, productID: nil,
      purchaseDate: Self.bought, purchaseToken: "a-long-token-1", signedDate: date, trust: .unsigned,
      statement: .revoked, revocation: Revocation(date: date, reason: "1", quantity: pieces))
  }

  // MARK: Case 36, without an order id

  @Test(arguments: [[0, 1], [1, 0], [0, 1, 0]], [false, true])
  func case36_aPendingPurchaseWithoutAnOrderGivesWayToItsOrder(_ order: [Int], _ isOneCommit: Bool) throws {
    let test = try TestLedger()
    let token = AccountToken.random()
    let account = try test.account(token: token)
    let facts = [purchase("a-long-token-1", .pending, token: token), purchase("GPA.9", token: token)]
    if isOneCommit {
      _ = try test.ledger.commit(order.map { TestLedger.piece([facts[$0]]) }, progress: nil)
    } else {
      for index in order { try test.book(facts[index]) }
    }
    let owned = try test.ledger.entitlements(of: account)
    #expect(owned.map(\.grant.id) == ["GPA.9"] && owned.map(\.status) == [.active])
    #expect(try test.ledger.verify().isClean)
    try test.ledger.rebuild()
    #expect(try test.ledger.entitlements(of: account) == owned)
  }

  /// The order ends up with the greater token, so that the purchase with the smaller one has no order.
  @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]], [1, 2, 3])
  func anOrderWithANewTokenReleasesTheOldOne(_ order: [Int], _ batch: Int) throws {
    let test = try TestLedger()
    let token = AccountToken.random()
    let account = try test.account(token: token)
    var moved = purchase("GPA.9", token: token)
    moved.purchaseToken = "b-long-token-1"
    let facts = [purchase("a-long-token-1", .pending, token: token), purchase("GPA.9", token: token), moved]
    for start in stride(from: 0, to: order.count, by: batch) {
      let pieces = order[start..<min(start + batch, order.count)].map { index in
        // Reads each owner before the commit.
        TestLedger.piece([facts[index]], nil, account)
      }
      _ = try test.ledger.commit(pieces, progress: nil)
    }
    let owned = try test.ledger.entitlements(of: account)
    #expect(owned.map(\.grant.id) == ["GPA.9", "a-long-token-1"] && owned.map(\.status) == [.active, .pending])
    let report = try test.ledger.verify()
    #expect(report.isClean, "\(report)")
  }

  @Test func aPendingPurchaseIsListedUntilItHasAnOrder() throws {
    let test = try TestLedger()
    let token = AccountToken.random()
    let account = try test.account(token: token)
    try test.book(purchase("a-long-token-1", .pending, token: token))
    // Another purchase's order with the same end of the token changes nothing.
    try test.book(
      .sample("GPA.8") {
        $0.store = .google
        $0.purchaseToken = "another-long-token-1"
      })
    #expect(try test.ledger.entitlements(of: account).map(\.status) == [.pending])
  }

  @Test func aPaidPurchasesTokenIsNotOwnOnly() throws {
    let test = try TestLedger()
    for fact in [purchase("a-long-token-1", .pending), purchase("GPA.9")] { try test.book(fact) }
    let piece = TestLedger.piece([purchase("GPA.9")])
    try Snapshot(of: test.ledger).store(SnapshotPage(evidence: [(piece.0.evidence, try piece.1.get())], cursor: nil))
    try Snapshot(of: test.ledger).cover(.google, .production)
    let report = try Reconciler(ledger: test.ledger).run(apply: true)
    #expect(report.isAgreed && report[.ownOnly] == 0, "\(report)")
  }

  // MARK: Context of an answer

  /// The product of an answer comes from the wrapper, and Google dates every answer by the purchase. The operator's
  /// last value wins.
  @Test func importingAgainCorrectsAWrongProduct() async throws {
    let test = try TestLedger()
    let identity = StoreIdentity(packageName: "org.example.maps")
    let importer = EvidenceImporter(
      into: test.ledger, verifier: try EvidenceVerifier(identity: identity), identity: identity,
      clock: .fixed(TestLedger.now))
    func line(_ product: String) -> String {
      """
      {"productId": "\(product)", "purchaseToken": "a-long-token-1", "packageName": "org.example.maps", "evidence": \
      {"kind": "androidpublisher#productPurchase", "orderId": "GPA.1", "purchaseState": 0, \
      "purchaseTimeMillis": "\(Self.bought)"}}

      """
    }
    let key = TransactionKey(store: .google, environment: .production, id: "GPA.1")
    for product in ["region.zzz", "region.alps", "region.alps", "region.zzz", "region.alps"] {
      let known = try test.ledger.entitlement(of: key)?.productID
      var outcomes: [Booking.Outcome] = []
      try await importer.run([try test.folder.write("line.jsonl", line(product))], quarantined: false) { lines in
        outcomes += lines.map(\.booking.outcome)
      } progress: { _ in
      }
      #expect(outcomes == [known == product ? .duplicate : .accepted], "\(product)")
      #expect(try test.ledger.entitlement(of: key)?.productID == product)
    }
    // It decides the product and no other field.
    let decided = try test.ledger.history(of: "GPA.1").compactMap { event -> [String]? in
      guard case .amendment(_, let revision) = event.content else { return nil }
      return revision.fieldNames
    }
    #expect(!decided.isEmpty && decided.allSatisfy { $0 == ["productId"] }, "\(decided)")
    #expect(try test.ledger.verify().isClean)
    let before = try test.projections()
    try test.ledger.rebuild()
    #expect(try test.projections() == before)
    // The operator cannot override a signed value of the store.
    var signed = purchase("GPA.1")
    signed.productID = "region.etna"
    try test.book(signed)
    #expect(try test.ledger.entitlement(of: key)?.productID == "region.etna")
  }

  // MARK: Case 24, by items

  @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 0, 2, 1], [2, 0, 2, 1]])
  func case24_partialRefundsAddUp(_ order: [Int]) throws {
    let test = try TestLedger()
    let facts = [
      purchase("GPA.1", quantity: 2), voided("GPA.1", pieces: 1, day: 1), voided("GPA.1", pieces: 1, day: 2),
    ]
    for index in order { try test.book(facts[index]) }
    #expect(try test.status("GPA.1", store: .google) == .revoked)
    #expect(try test.amounts("GPA.1") == [1: 1099, 2: 1099])
    #expect(try test.ledger.verify().isClean)
  }

  /// Reading a list twice adds nothing, and the policy applies to the total refund.
  @Test func oneOfThreeItemsRefundsAThird() throws {
    let test = try TestLedger()
    try test.book(purchase("GPA.1", quantity: 3))
    for _ in 0..<2 { try test.book(voided("GPA.1", pieces: 1, day: 1)) }
    #expect(try test.status("GPA.1", store: .google) == .active && test.events(.decision) == 1)
    #expect(try test.amounts("GPA.1") == [1: 1099, 2: 366])
    try test.book(voided("GPA.1", pieces: 1, day: 2))
    let key = TransactionKey(store: .google, environment: .production, id: "GPA.1")
    #expect(try test.ledger.entitlement(of: key)?.refundedMilli == 66_666)
    #expect(try test.amounts("GPA.1") == [1: 1099, 2: 733])
    let decisions = try test.ledger.history(of: "GPA.1").compactMap { event -> Int64? in
      if case .decision(_, _, let percentage, _, _) = event.content { percentage } else { nil }
    }
    #expect(decisions == [33_333, 66_666])
  }

  @Test func theSnapshotKeepsEveryPartialRefund() throws {
    let test = try TestLedger()
    try test.book(purchase("GPA.1", quantity: 2))
    let page = [voided("GPA.1", pieces: 1, day: 2), voided("GPA.1", pieces: 1, day: 1)].map { TestLedger.piece([$0]) }
    try Snapshot(of: test.ledger).store(
      SnapshotPage(evidence: try page.map { ($0.0.evidence, try $0.1.get()) }, cursor: nil))
    _ = try Reconciler(ledger: test.ledger).run(apply: true)
    #expect(try test.status("GPA.1", store: .google) == .revoked)
    #expect(try Reconciler(ledger: test.ledger).run(apply: false)[.stateDiffers] == 0)
  }
}
