import Foundation
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

@Suite(.ownThread) struct ReconcileTests {
  private func put(
    _ test: TestLedger, _ facts: StoreTransaction..., cursor: (String, String)? = nil, isWhole: Bool = true
  ) throws {
    let page = SnapshotPage(
      evidence: facts.map { fact in
        let piece = TestLedger.piece([fact])
        return (piece.0.evidence, try! piece.1.get())
      }, cursor: cursor.map { (name: $0.0, value: $0.1) })
    let snapshot = Snapshot(of: test.ledger)
    try snapshot.store(page)
    guard isWhole else { return }
    for fact in facts { try snapshot.cover(fact.store, fact.environment) }
  }

  private func reconcile(_ test: TestLedger, apply: Bool = false) throws -> ([ReconcileLine], ReconcileReport) {
    var lines: [ReconcileLine] = []
    let report = try Reconciler(ledger: test.ledger).run(apply: apply, each: { lines.append($0) })
    return (lines, report)
  }

  /// An export in a temporary database.
  private func export(_ test: TestLedger, _ facts: [StoreTransaction], quarantined: VerificationError? = nil) throws
    -> Snapshot
  {
    let snapshot = try Snapshot(apartFrom: test.ledger)
    var pieces = facts.map { TestLedger.piece([$0]) }
    if let quarantined {
      pieces.append(TestLedger.piece([.sample("q")], nil, nil, true, .operatorImport, nil, quarantined))
    }
    try snapshot.store(SnapshotPage(evidence: pieces.map { ($0.0.evidence, try! $0.1.get()) }, cursor: nil))
    for fact in facts { try snapshot.cover(fact.store, fact.environment) }
    return snapshot
  }

  @Test func anExportIsComparedWithoutChangingWhatWasPulled() throws {
    let test = try TestLedger()
    try test.book(.sample("1"))
    try put(test, .sample("1"), .sample("2"), cursor: ("apple.history.Production.1", "r1"))
    let tables = ["store_snapshot", "cursor", "evidence", "event", "progress", "lookup"]
    func contents(_ tables: [String]) throws -> [[String]] {
      try test.ledger.read { db in
        try tables.map { try db.rows("SELECT * FROM \($0)") }
      }
    }
    let before = try contents(tables)
    let refund = StoreTransaction.sample("1").revoked(at: TestLedger.now)
    let later = VerificationError(.retryLater, "later")
    let dry = try Reconciler(ledger: test.ledger, snapshot: export(test, [refund, .sample("3")], quarantined: later))
      .run(apply: false)
    #expect(dry[.stateDiffers] == 1 && dry[.storeOnly] == 1 && dry[.quarantined] == 1, "\(dry)")
    #expect(try contents(tables) == before)
    let again = Snapshot(of: test.ledger)
    #expect(try again.cursor("apple.history.Production.1")?.value == "r1")

    let snapshot = try export(test, [refund, .sample("3")], quarantined: later)
    let applied = try Reconciler(ledger: test.ledger, snapshot: snapshot).run(apply: true)
    #expect(applied.applied == 2 && applied.remaining == 1)
    #expect(try test.status("1") == .revoked && test.status("3") == .active && test.status("2") == nil)
    #expect(try contents(["store_snapshot", "cursor"]) == Array(before.prefix(2)))
    // Recorded facts have their evidence, and quarantined evidence can be dismissed.
    #expect(try test.ledger.quarantined().map(\.reason) == ["retry-later"])
    #expect(try test.ledger.verify().isClean)
    #expect(try Reconciler(ledger: test.ledger, snapshot: snapshot).run(apply: true).applied == 0)
    // The pulled snapshot is compared as before.
    #expect(try reconcile(test).1[.storeOnly] == 1)
  }

  @Test func everyClassIsFoundAndOnlyUndisputedFactsAreRecorded() throws {
    let test = try TestLedger()
    let a = try test.account()
    let b = try test.account()
    let token = try test.token(of: b)
    for id in ["1", "2", "3", "4", "5"] { try test.book(.sample(id), as: a) }
    let refund = StoreTransaction.sample("2").revoked(at: TestLedger.now)
    try test.book(StoreTransaction.sample("5").revoked(at: TestLedger.now))
    try test.book(.sample("9"), quarantine: VerificationError(.signedInFuture, "tomorrow"))
    // 1 agrees, 2 was refunded, 3 is missing, 4 names another account, 5 is older than the ledger's, 6 is new.
    try put(
      test, .sample("1"), refund, .sample("4", signed: TestLedger.now) { $0.appAccountToken = token }, .sample("5"),
      .sample("6"))

    let before = try test.projections()
    let events = try test.count("SELECT count(*) FROM event")
    let (dry, report) = try reconcile(test)
    #expect(dry.map(\.class) == [.stateDiffers, .ownOnly, .accountConflict, .storeOnly, .quarantined])
    #expect(dry.map(\.transaction?.id) == ["2", "3", "4", "6", "9"])
    #expect(dry[2].owner == a && dry[2].claimant == b)
    #expect(report[.matched] == 2 && report.staleSnapshots == 1 && report.remaining == 5 && !report.isAgreed)
    #expect(try test.projections() == before)
    #expect(try test.count("SELECT count(*) FROM event") == events)

    let (applied, after) = try reconcile(test, apply: true)
    #expect(applied.map(\.isApplied) == [true, false, false, true, false])
    #expect(after.applied == 2 && after.remaining == 3)
    #expect(try test.status("2") == .revoked && test.status("3") == .active && test.status("6") == .active)
    #expect(try test.owner("4") == a)
    #expect(try test.events(.correction) == 2)
    #expect(try test.ledger.lookups().map(\.key.id) == ["3"])

    let projections = try test.projections()
    let count = try test.count("SELECT count(*) FROM event")
    let (again, last) = try reconcile(test, apply: true)
    #expect(again.map(\.class) == [.ownOnly, .accountConflict, .quarantined])
    #expect(last.applied == 0 && last[.matched] == 4)
    #expect(try test.projections() == projections)
    #expect(try test.count("SELECT count(*) FROM event") == count)
    #expect(try test.ledger.verify().isClean)
  }

  /// A pull of recent changes tells nothing about other transactions.
  @Test func transactionsThatWereNotPulledAreNoDifference() throws {
    let test = try TestLedger()
    for id in ["1", "2"] { try test.book(.sample(id)) }
    try put(test, .sample("1"), isWhole: false)
    let (lines, report) = try reconcile(test, apply: true)
    #expect(lines.isEmpty && report.isAgreed && report.notPulled == 1)
    #expect(report.text.contains("1 in the ledger was not covered by the pull"))
    #expect(try test.ledger.lookups().isEmpty)
    // After a complete pull later pages add to it.
    try Snapshot(of: test.ledger).cover(.apple, .production)
    try put(test, .sample("3"), isWhole: false)
    #expect(try reconcile(test).0.map(\.class) == [.ownOnly, .storeOnly])
  }

  /// A clock that is ten years ahead would else keep the mark in the future when it is right again.
  @Test func theMarkOfACompletePullHasTheStoresTime() throws {
    let test = try TestLedger()
    let snapshot = Snapshot(of: test.ledger)
    try snapshot.cover(.apple, .production, clockAhead: 315_360_000_000)
    let code = try #require(StoreEnvironment.production.code)
    let mark = try #require(try snapshot.cursor(Snapshot.scope(Store.apple.code, code)))
    #expect(mark.updatedAt == test.ledger.clock.now() - 315_360_000_000)
  }

  @Test func case22_aRefundWithALostNotificationIsFoundAndRevokes() throws {
    let test = try TestLedger()
    let a = try test.account()
    try test.book(.sample(), as: a)
    try put(test, StoreTransaction.sample().revoked(at: TestLedger.now))
    let (lines, _) = try reconcile(test)
    #expect(lines.map(\.class) == [.stateDiffers])
    #expect(try test.status("1") == .active)
    let (_, report) = try reconcile(test, apply: true)
    #expect(report.isAgreed)
    #expect(try test.status("1") == .revoked)
    #expect(try test.amounts("1") == [1: 1099, 2: 1099])
    #expect(try reconcile(test).1.isAgreed)
  }

  @Test func case39_aGapInTheVoidedListIsReportedAndEveryPurchaseQueried() throws {
    let test = try TestLedger()
    try test.book(.sample("GPA.1") { $0.store = .google })
    try test.book(.sample("GPA.2") { $0.store = .google }.revoked(at: TestLedger.now))
    try test.book(.sample("3"))
    let last = TestLedger.now - 31 * TestLedger.day
    func window(_ end: Int64) -> (name: String, value: String) {
      ("google.voided.Production", NotificationWindow(start: end - TestLedger.day, end: end, page: nil).text)
    }
    try put(test, .sample("GPA.1") { $0.store = .google }, cursor: window(TestLedger.now))
    #expect(try reconcile(test).1.windowLostSince == nil)
    try put(test, cursor: window(last))
    // Reported before the next pull, and still after it, because it reads only the last 30 days.
    #expect(try reconcile(test).1.windowLostSince == last)
    var page = SnapshotPage(evidence: [], cursor: window(TestLedger.now))
    let lost = LostWindow(from: last, until: TestLedger.now - 30 * TestLedger.day)
    page.feed = FeedNote(store: .google, environment: .production, lost: lost, clockAhead: 0)
    try Snapshot(of: test.ledger).store(page)
    let (_, report) = try reconcile(test)
    #expect(report.windowLostSince == TestLedger.now - 31 * TestLedger.day && !report.isAgreed)
    #expect(report.text.hasPrefix("window-lost: "))
    _ = try reconcile(test, apply: true)
    #expect(try test.ledger.lookups().map(\.key.id).contains("GPA.1"))
    // Queued queries do not close the gap.
    #expect(try reconcile(test).1.windowLostSince == TestLedger.now - 31 * TestLedger.day)
  }

  /// The store names an erased account's token for another account's grant. An operator has to decide, because claims
  /// from before the erasure would be void.
  @Test func anErasedAccountsTokenTakesNoGrant() throws {
    let test = try TestLedger()
    let (tom, bob) = (try test.account(), try test.account())
    try test.book(.sample(), as: bob)
    var named = StoreTransaction.sample()
    named.signedDate += 1000
    named.appAccountToken = try test.token(of: tom)
    try test.erase(tom)
    try put(test, named)
    let (lines, report) = try reconcile(test, apply: true)
    #expect(lines.map(\.class) == [.accountConflict] && report.applied == 0, "\(lines)")
    #expect(try test.ledger.entitlements(of: bob).map(\.status) == [.active])
  }

  /// The store's copy exists in quarantine, so the transaction is not missing.
  @Test(arguments: [false, true]) func quarantinedEvidenceIsListedAndNotOwnOnly(_ isApart: Bool) throws {
    let test = try TestLedger()
    for id in ["1", "q"] { try test.book(.sample(id)) }
    let later = VerificationError(.signedInFuture, "tomorrow")
    var snapshot: Snapshot?
    if isApart {
      snapshot = try export(test, [.sample("1")], quarantined: later)
    } else {
      let piece = TestLedger.piece([.sample("q")], nil, nil, true, .operatorImport, [7], later)
      try Snapshot(of: test.ledger).store(SnapshotPage(evidence: [([7], try piece.1.get())], cursor: nil))
      try put(test, .sample("1"))
    }
    for apply in [false, true, false] {
      var lines: [ReconcileLine] = []
      let report = try Reconciler(ledger: test.ledger, snapshot: snapshot).run(apply: apply, each: { lines.append($0) })
      #expect(lines.map(\.class) == [.quarantined] && lines.map(\.transaction?.id) == ["q"], "\(lines)")
      #expect(report[.ownOnly] == 0 && report[.matched] == 1 && report.remaining == 1)
      #expect(lines[0].text.hasPrefix("(apple q) signed-in-future, evidence "), "\(lines[0].text)")
    }
    // After it is dismissed the transaction is own-only again.
    let hash = try test.ledger.quarantined().map(\.sha256.hexadecimal)
    if !isApart {
      try test.ledger.dismissEvidence(try #require(hash.first), because: "x")
      #expect(try reconcile(test).0.map(\.class) == [.ownOnly])
    }
  }

  /// The content of a broken line is unknown, so agreement cannot be reported.
  @Test func anExportWithUnreadablePiecesNeverAgrees() throws {
    let test = try TestLedger()
    try test.book(.sample("1"))
    let snapshot = try export(test, [.sample("1")])
    let report = try Reconciler(ledger: test.ledger, snapshot: snapshot, unread: 2).run(apply: false)
    #expect(!report.isAgreed && report.remaining == 0 && report[.matched] == 1)
    #expect(report.text.contains("2 pieces of the store's export could not be read"), "\(report.text)")
    #expect(!report.text.contains("Store and ledger agree") && report.json.text.contains("\"unread\":2"))
  }

  @Test func anAppleExportDoesNotDependOnGooglesVoidedList() throws {
    let test = try TestLedger()
    try test.book(.sample("1"))
    try put(test, .sample("1"), cursor: ("google.voided.Production", "1"))
    try test.ledger.database.write { try $0.execute("UPDATE cursor SET updated_at = 0 WHERE name LIKE 'google%'") }
    let snapshot = try export(test, [.sample("1")])
    #expect(try Reconciler(ledger: test.ledger, snapshot: snapshot).run(apply: false).isAgreed)
    #expect(try !reconcile(test).1.isAgreed)
  }

  @Test func aStoreThatWasNotPulledIsNotCompared() throws {
    let test = try TestLedger()
    try test.book(.sample("1"))
    try test.book(.sample("GPA.1") { $0.store = .google })
    #expect(try reconcile(test).1.scopes.isEmpty)
    try put(test, .sample("1"))
    #expect(try !reconcile(test).1.isAgreed && reconcile(test).0.isEmpty)
    try Snapshot(of: test.ledger).cover(.google, .production)
    #expect(try reconcile(test).0.map(\.class) == [.ownOnly])
    try Snapshot(of: test.ledger).clear(.google, .production)
    #expect(try reconcile(test).1.unknowns.map(\.code) == [.notPulled])
  }

  @Test func theSnapshotKeepsTheGreatestStateInAnyOrder() throws {
    let old = StoreTransaction.sample()
    let refund = old.revoked(at: TestLedger.now)
    for facts in [[old, refund], [refund, old]] {
      let test = try TestLedger()
      for fact in facts { try put(test, fact) }
      #expect(try test.count("SELECT count(*) FROM store_snapshot") == 1)
      #expect(try reconcile(test).0.first?.theirs?.statement == .revoked)
      #expect(try test.ledger.verify().isClean)
    }
  }

  /// Both sides are random subsets, compared with a dictionary; batches are smaller than the number of differences.
  @Test func theMergeFindsTheDifferencesOfASetComparison() throws {
    for seed in 0..<4 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let test = try TestLedger()
      var (ours, theirs): (Set<String>, Set<String>) = ([], [])
      var pieces: [(Submission, Result<VerifiedEvidence, VerificationError>)] = []
      var page = SnapshotPage(evidence: [], cursor: nil)
      for _ in 0..<2500 {
        let fact = StoreTransaction.sample("\(Int.random(in: 0..<4000, using: &random))")
        let piece = TestLedger.piece([fact])
        if Bool.random(using: &random) {
          ours.insert(fact.transactionID)
          pieces.append(piece)
        }
        if Int.random(in: 0..<4, using: &random) > 0 {
          theirs.insert(fact.transactionID)
          page.evidence.append((piece.0.evidence, try piece.1.get()))
        }
      }
      _ = try test.ledger.commit(pieces, progress: nil)
      let snapshot = Snapshot(of: test.ledger)
      try snapshot.store(page)
      try snapshot.cover(.apple, .production)
      let (lines, report) = try reconcile(test)
      #expect(Set(lines.filter { $0.class == .storeOnly }.compactMap(\.transaction?.id)) == theirs.subtracting(ours))
      #expect(Set(lines.filter { $0.class == .ownOnly }.compactMap(\.transaction?.id)) == ours.subtracting(theirs))
      #expect(report[.matched] == ours.intersection(theirs).count, "seed \(seed)")
      let (_, applied) = try reconcile(test, apply: true)
      #expect(applied.applied == theirs.subtracting(ours).count)
      #expect(try reconcile(test).1[.storeOnly] == 0)
    }
  }
}
