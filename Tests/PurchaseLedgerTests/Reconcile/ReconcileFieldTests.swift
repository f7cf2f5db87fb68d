import Foundation
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// The comparison of ledger and store, field by field.
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

  /// The fact of an old `verifyReceipt` answer.
  private func poor(_ fact: StoreTransaction, signed: Int64) -> StoreTransaction {
    var fact = fact
    (fact.productType, fact.price, fact.ownership, fact.reason) = (.unknown, nil, .unknown, "")
    (fact.trust, fact.signedDate) = (.unsigned, signed)
    return fact
  }

  @Test(arguments: [false, true]) func valuesThatOnlyTheStoreHasAreTakenOver(_ isPoorNewer: Bool) throws {
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

  typealias Change = @Sendable (inout StoreTransaction) -> Void

  /// Each change makes the field smaller than the sample's, by its bytes or number. The sample is a consumable with
  /// quantity 2.
  static let smaller: [(field: String, change: Change)] = [
    ("price", { $0.price = Money(milliunits: 9, currency: "USD") }),
    ("price", { $0.price = Money(milliunits: 10_990, currency: "AUD") }),
    ("price", { $0.price = nil }),
    ("productId", { $0.productID = "region.aaa" }),
    ("quantity", { $0.quantity = 1 }),
    ("productType", { $0.productType = .nonConsumable }),
    ("purchaseDate", { $0.purchaseDate -= 1 }),
  ]

  private func full(_ id: String, signed: Int64 = TestLedger.now - TestLedger.day) -> StoreTransaction {
    .sample(id, signed: signed) { ($0.productType, $0.quantity) = (.consumable, 2) }
  }

  /// Of 2,000 transactions on both sides the store contradicts every tenth, in each field, with an earlier and a later
  /// date.
  @Test func everyContradictionIsListedWhicheverSideIsNewer() throws {
    let test = try TestLedger()
    var page = SnapshotPage(evidence: [], cursor: nil)
    var pieces: [(Submission, Result<VerifiedEvidence, VerificationError>)] = []
    var expected: [String: (field: String, isStoreNewer: Bool)] = [:]
    var isLater = false
    for number in 0..<2000 {
      let ours = full("\(number)")
      pieces.append(TestLedger.piece([ours]))
      var theirs = ours
      if number % 10 == 0 {
        let (field, change) = Self.smaller[number / 10 % Self.smaller.count]
        if number / 10 % Self.smaller.count == 0 { isLater.toggle() }
        change(&theirs)
        theirs.signedDate += (isLater ? 1 : -1) * 40 * TestLedger.day
        expected["\(number)"] = (field, isLater)
      }
      let piece = TestLedger.piece([theirs])
      page.evidence.append((piece.0.evidence, try piece.1.get()))
    }
    _ = try test.ledger.commit(pieces, progress: nil)
    let snapshot = Snapshot(of: test.ledger)
    try snapshot.store(page)
    try snapshot.cover(.apple, .production)

    let (lines, dry) = try reconcile(test)
    #expect(lines.allSatisfy { $0.class == .stateDiffers } && lines.count == 200 && dry[.stateDiffers] == 200)
    let unstated = lines.count { $0.isUnstated }
    #expect(unstated > 0 && dry.unstated == unstated && dry.remaining == 200 - unstated)
    #expect(dry[.matched] == 1800 && dry.staleSnapshots == 0 && !dry.isAgreed)
    for line in lines {
      let (field, isStoreNewer) = try #require(expected[line.transaction?.id ?? ""])
      #expect(line.differences.map(\.field) == [field], "\(line)")
      #expect(line.differences.map(\.newer) == [isStoreNewer ? .store : .ours], "\(line)")
      let isSilent = line.differences[0].theirs == nil
      #expect(line.differences[0].ours != nil && line.isKept == (!isStoreNewer || isSilent), "\(line)")
      #expect(line.isUnstated == isSilent && line.remedy.hasPrefix("nothing: ") == isSilent, "\(line)")
    }
    // The store's later values are taken over; missing values remove nothing.
    let settled = lines.filter { !$0.isKept }.count
    #expect(
      settled == expected.values.filter(\.isStoreNewer).count
        - lines.filter {
          $0.differences[0].theirs == nil && $0.differences[0].newer == .store
        }.count)
    let (applied, report) = try reconcile(test, apply: true)
    #expect(report.applied == settled && applied.filter(\.isApplied).count == settled)
    #expect(report.remaining == 200 - settled - unstated && report.kept == 200 - settled - unstated)
    #expect(try reconcile(test).1[.stateDiffers] == 200 - settled)
    #expect(try test.count("SELECT count(*) FROM store_transaction WHERE price_milli IS NULL") == 0)
    #expect(try test.ledger.verify().isClean)
  }

  @Test(arguments: [-1, 1], [false, true])
  func laterValuesWinByImportAndByReconciliation(_ days: Int64, _ isImported: Bool) throws {
    for (field, change) in Self.smaller {
      let test = try TestLedger()
      try test.book(full("1"))
      var theirs = full("1", signed: TestLedger.now - TestLedger.day + days * TestLedger.day / 2)
      change(&theirs)
      if isImported { try test.book(theirs) } else { try pull(test, theirs) }
      if !isImported { _ = try reconcile(test, apply: true) }
      let holds = days > 0 && theirs.price != nil ? theirs : full("1")
      let row = try #require(
        try test.ledger.read { db in try Projections(db, policy: LedgerPolicy()).row(RowKey(holds.key)!) })
      let wanted = TransactionRow(holds)
      #expect(row.digest == wanted.digest, "\(field), \(days) days")
      #expect(try test.ledger.verify().isClean)
    }
  }

  /// Google dates every answer by the purchase: if only the tie-break decides, applying decides instead, also
  /// repeatedly.
  @Test func applyDecidesBetweenValuesOfEqualDates() throws {
    let test = try TestLedger()
    func google(_ product: String, _ quantity: Int64) -> StoreTransaction {
      .sample("GPA.1") { ($0.store, $0.productID, $0.quantity, $0.trust) = (.google, product, quantity, .unsigned) }
    }
    let ours = google("region.zzz", 3)
    try test.book(ours)
    for theirs in [google("region.aaa", 1), google("region.aaa", 2), google("region.zzz", 3)] {
      try Snapshot(of: test.ledger).clear(.google, .production)
      try pull(test, theirs)
      let (lines, dry) = try reconcile(test)
      #expect(lines.map(\.class) == [.stateDiffers] && dry.remaining == 1 && !lines[0].isKept)
      #expect(lines[0].differences.allSatisfy { $0.newer == .neither })
      #expect(try reconcile(test, apply: true).1.isAgreed)
      #expect(try reconcile(test).1.isAgreed && test.ledger.verify().isClean)
      #expect(try test.ledger.entitlement(of: theirs.key)?.productID == theirs.productID)
    }
    let before = try test.projections()
    try test.ledger.rebuild()
    #expect(try test.projections() == before && test.ledger.history(of: "GPA.1").contains { $0.type == .amendment })
    // A signed value outranks any decision.
    var signed = google("region.kkk", 3)
    signed.trust = .signed
    try test.book(signed)
    #expect(try test.ledger.entitlement(of: signed.key)?.productID == "region.kkk")
  }

  /// Of contradictory copies with equal dates the greater value counts; a decision for one field does not affect the
  /// others.
  @Test func contradictoryCopiesAreSettledOnce() throws {
    for seed in 0..<16 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let test = try TestLedger()
      func copy() -> StoreTransaction {
        StoreTransaction.sample("1") {
          $0.productID = ["region.aa", "region.zz", "region.zzzz"].randomElement(using: &random)!
          $0.quantity = [1, 2, 9].randomElement(using: &random)!
          $0.reason = ["", "PURCHASE", "RENEWAL"].randomElement(using: &random)!
          $0.purchaseDate += Int64.random(in: 0...1, using: &random)
          $0.signedDate += Int64.random(in: 0..<8, using: &random) == 0 ? 1 : 0
        }
      }
      try test.book(copy())
      for _ in 0..<Int.random(in: 1...4, using: &random) { try pull(test, copy()) }
      let first = try reconcile(test, apply: true).1
      #expect(first.remaining == first.kept, "seed \(seed)")
      let events = try test.count("SELECT count(*) FROM event")
      let second = try reconcile(test, apply: true).1
      #expect(second.applied == 0 && second.kept == first.kept, "seed \(seed)")
      #expect(try test.count("SELECT count(*) FROM event") == events, "seed \(seed)")
      #expect(try test.ledger.verify().isClean, "seed \(seed)")
    }
    let test = try TestLedger()
    func copy(_ product: String, _ quantity: Int64) -> StoreTransaction {
      .sample("1") { ($0.productID, $0.quantity) = (product, quantity) }
    }
    try test.book(copy("region.zzzz", 9))
    try pull(test, copy("region.zz", 1), copy("region.aa", 2))
    #expect(try reconcile(test, apply: true).1.isAgreed)
    #expect(try reconcile(test).1.isAgreed && test.events(.amendment) == 2)
    #expect(
      try test.count("SELECT count(*) FROM store_transaction WHERE product_id = 'region.zz' AND quantity = 2") == 1)
  }

  @Test func aValueThatTheStoresCopyLacksIsListedAndNoContradiction() throws {
    let test = try TestLedger()
    try test.book(.sample())
    try pull(test, .sample("1", signed: TestLedger.now) { $0.price = nil })
    for apply in [false, true] {
      let (lines, report) = try reconcile(test, apply: apply)
      #expect(lines.map(\.isUnstated) == [true] && lines[0].differences.map(\.field) == ["price"])
      #expect(report.isAgreed && report.unstated == 1 && report.kept == 0 && report.applied == 0)
      #expect(lines[0].text.hasSuffix("-> nothing: the store's copy does not state it, and contradicts nothing\n"))
    }
  }

  @Test func aDifferenceOfAMillisecondIsReportedToTheMillisecond() throws {
    let test = try TestLedger()
    let ours = StoreTransaction.sample { $0.purchaseDate = 1_750_000_000_125 }
    try test.book(ours, .sample("2").revoked(at: 1_750_000_000_125, signed: TestLedger.now))
    try pull(
      test, .sample { $0.purchaseDate = 1_750_000_000_126 },
      .sample("2").revoked(at: 1_750_000_000_126, signed: TestLedger.now))
    let lines = try reconcile(test).0
    #expect(lines.map { $0.differences.map(\.field) } == [["purchaseDate"], ["revocationDate"]])
    for difference in lines.flatMap(\.differences) {
      #expect(difference.ours == "2025-06-15T15:06:40.125Z" && difference.theirs == "2025-06-15T15:06:40.126Z")
    }
    #expect(lines.allSatisfy { $0.text.contains("40.125Z") && $0.text.contains("40.126Z") })
  }

  /// Receipts have dates in whole seconds.
  @Test func aLaterReceiptDoesNotRoundADate() throws {
    let test = try TestLedger()
    let exact = StoreTransaction.sample { $0.purchaseDate += 123 }
    try test.book(exact)
    var receipt = poor(exact, signed: TestLedger.now)
    (receipt.trust, receipt.purchaseDate) = (.signed, exact.purchaseDate / 1000 * 1000)
    try pull(test, receipt)
    let (lines, report) = try reconcile(test)
    #expect(lines.isEmpty && report.isAgreed && report.staleSnapshots == 1)
    try test.book(receipt)
    #expect(try test.count("SELECT purchase_date FROM store_transaction") == Int(exact.purchaseDate))
  }

  /// The store's copy has fewer fields, like an old export: nothing to do.
  @Test func aCopyWithFewerFieldsIsStale() throws {
    let test = try TestLedger()
    try test.book(.sample())
    try pull(test, poor(.sample(), signed: TestLedger.now))
    let (lines, report) = try reconcile(test)
    #expect(lines.isEmpty && report.isAgreed && report.staleSnapshots == 1)
  }

  /// A later fact with fewer fields removes nothing from the snapshot, in any order; each fact is recorded with its own
  /// evidence.
  @Test(arguments: [false, true]) func theSnapshotJoinsFacts(_ isPoorFirst: Bool) throws {
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

  @Test func aPurchaseMadeAfterThePullIsNotMissing() throws {
    let test = try TestLedger()
    try test.book(.sample("1"))
    try pull(test, .sample("1"))
    try test.book(.sample("2") { $0.purchaseDate = TestLedger.now + 1 })
    try test.book(.sample("3"))
    let (lines, report) = try reconcile(test)
    #expect(lines.map(\.transaction?.id) == ["3"] && report.notPulled == 1)
  }

  /// The query has product and token, also if an older query lacked them.
  @Test func anOwnOnlyGooglePurchaseCanBeQueried() throws {
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
