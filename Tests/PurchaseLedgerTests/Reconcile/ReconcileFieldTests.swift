import Foundation
import GRDB
import TestSupport
import Testing

@testable import PurchaseLedger

/// What the two books are compared by, field by field.
@Suite(.ownThread) struct ReconcileFieldTests {
  private func pull(_ test: TestLedger, _ facts: StoreTransaction...) throws {
    let snapshot = Snapshot(of: test.ledger)
    for fact in facts {
      let piece = TestLedger.piece([fact])
      try snapshot.store(SnapshotPage(evidence: [(piece.0.evidence, try piece.1.get())], cursor: nil))
      try snapshot.cover(fact.store, fact.environment)
    }
  }

  private func reconcile(_ test: TestLedger, apply: Bool = false) throws -> ([ReconcileLine], ReconcileReport) {
    var lines: [ReconcileLine] = []
    let report = try Reconciler(ledger: test.ledger).run(apply: apply, each: { lines.append($0) })
    return (lines, report)
  }

  /// As an old `verifyReceipt` answer tells of a transaction.
  private func poor(_ fact: StoreTransaction, signed: Int64) -> StoreTransaction {
    var fact = fact
    (fact.productType, fact.price, fact.ownership, fact.reason) = (.unknown, nil, .unknown, "")
    (fact.trust, fact.signedDate) = (.unsigned, signed)
    return fact
  }

  @Test(arguments: [false, true]) func whatOnlyTheStoreSaysIsTakenOver(_ isPoorNewer: Bool) throws {
    let test = try TestLedger()
    let rich = StoreTransaction.sample { $0.productType = .consumable }
    try test.book(poor(rich, signed: rich.signedDate + (isPoorNewer ? 1 : -1)))
    #expect(try test.status("1") == .active && test.amounts("1") == [1: 0])
    try pull(test, rich)
    #expect(try reconcile(test).0.map(\.class) == [.stateDiffers])
    #expect(try reconcile(test, apply: true).1.isAgreed)
    #expect(try test.status("1") == .held && test.amounts("1") == [1: 1099])
    #expect(try reconcile(test).1.isAgreed && test.ledger.verify().isClean)
  }

  @Test(
    arguments: [
      { $0.productType = .consumable }, { $0.price = Money(milliunits: 20_000, currency: "USD") },
      { $0.ownership = OwnershipType(rawValue: "XSHARED") }, { $0.quantity = 2 }, { $0.expiresDate = TestLedger.now },
      { $0.purchaseDate += 1 }, { $0.reason = "RENEWAL" },
    ] as [@Sendable (inout StoreTransaction) -> Void])
  func aDifferenceInOneFieldIsFound(_ change: @Sendable (inout StoreTransaction) -> Void) throws {
    let test = try TestLedger()
    try test.book(.sample())
    try pull(test, StoreTransaction.sample("1", change))
    let (lines, report) = try reconcile(test, apply: true)
    #expect(lines.map(\.class) == [.stateDiffers] && report.isAgreed)
    #expect(try reconcile(test).1.staleSnapshots == 0)
  }

  /// The store's copy is the poorer one, as an export made by older means is: nothing to do.
  @Test func aPoorerCopyIsStale() throws {
    let test = try TestLedger()
    try test.book(.sample())
    try pull(test, poor(.sample(), signed: TestLedger.now))
    let (lines, report) = try reconcile(test)
    #expect(lines.isEmpty && report.isAgreed && report.staleSnapshots == 1)
  }

  /// What came later and says less takes nothing from the snapshot, in any order; each fact is booked with the evidence it came by.
  @Test(arguments: [false, true]) func theSnapshotJoinsWhatItGets(_ isPoorFirst: Bool) throws {
    let test = try TestLedger()
    let rich = StoreTransaction.sample { $0.productType = .consumable }
    let later = poor(rich, signed: TestLedger.now)
    if isPoorFirst { try pull(test, later, rich) } else { try pull(test, rich, later) }
    #expect(try reconcile(test, apply: true).1.applied == 1)
    #expect(try test.status("1") == .held && test.amounts("1") == [1: 1099])
    #expect(try test.events(.transaction) == 2)
    #expect(try test.count("SELECT count(DISTINCT evidence) FROM event WHERE type = 1") == 2)
    #expect(try reconcile(test).1.isAgreed && test.ledger.verify().isClean)
  }

  @Test func whatWasSoldAfterEverythingWasAskedForIsNotMissing() throws {
    let test = try TestLedger()
    try test.book(.sample("1"))
    try pull(test, .sample("1"))
    try test.book(.sample("2") { $0.purchaseDate = TestLedger.now + 1 })
    try test.book(.sample("3"))
    let (lines, report) = try reconcile(test)
    #expect(lines.map(\.transaction?.id) == ["3"] && report.notPulled == 1)
  }

  /// The question names what Google wants to be asked with, also where an older one did not.
  @Test func anOwnOnlyPurchaseOfGooglesCanBeAskedFor() throws {
    let test = try TestLedger()
    try test.book(
      .sample("GPA.1") {
        $0.store = .google
        $0.purchaseToken = "token-1"
      })
    let key = TransactionKey(store: .google, environment: .production, id: "GPA.1")
    try test.ledger.write { _ = try $0.remember([LookupHint(key: key, productID: nil, purchaseToken: nil)]) }
    try Snapshot(of: test.ledger).cover(.google, .production)
    #expect(try reconcile(test, apply: true).0.map(\.class) == [.ownOnly])
    #expect(
      try test.count(
        "SELECT count(*) FROM lookup WHERE product_id = 'region.alps' AND purchase_token = 'token-1'") == 1)
    #expect(try test.ledger.lookups() == [LookupHint(key: key, productID: "region.alps", purchaseToken: "token-1")])
  }
}
