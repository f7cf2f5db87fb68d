import Foundation
import Support
import TestSupport
import Testing

@testable import Accounts
@testable import PurchaseLedger

/// `verify`, `rebuild` and `export` on a ledger with events of every kind.
@Suite(.ownThread) struct VerifyTests {
  private func filled() throws -> TestLedger {
    let test = try TestLedger { $0.secondClaim = .transfer }
    let a = try test.account()
    let b = try test.account()
    let token = try test.token(of: b)
    let header = Array("eyJ".utf8) + Array(repeating: UInt8(ascii: "a"), count: 600) + Array(".".utf8)
    for index in 1...40 {
      let fact = StoreTransaction.sample("\(index)") {
        if index % 3 == 0 { $0.appAccountToken = token }
        if index % 7 == 0 { $0.environment = .sandbox }
      }
      try test.book(fact, as: index % 2 == 0 && index % 3 != 0 ? a : nil, bytes: header + Array("\(index).s".utf8))
      if index % 5 == 0 {
        try test.book(fact.revoked(at: TestLedger.now, percentageMilli: index % 2 == 0 ? 25_000 : nil))
      }
    }
    try test.book(.sample("2"), as: b)
    try test.book(.sample("99"), quarantine: VerificationError(.signedInFuture, "tomorrow"))
    try test.erase(a)
    return test
  }

  @Test func anUntouchedLedgerIsClean() throws {
    let test = try filled()
    var steps: [(done: Int, total: Int)] = []
    let report = try test.ledger.verify(progress: { steps.append((done: $0, total: $1)) })
    #expect(report.isClean, "\(report.findings)")
    #expect(report.events > 50)
    // One count for all passes: it never goes back, ends at the total, and moves after the events as well.
    let total = try #require(steps.last).total
    #expect(steps.allSatisfy { $0.total == total } && steps.last?.done == total && steps.first?.done == 0)
    #expect(zip(steps, steps.dropFirst()).allSatisfy { $0.done <= $1.done }, "\(steps)")
    let rows = try ["evidence", "posting", "entitlement"].map { table in
      try test.ledger.read { try $0.prepare("SELECT count(*) FROM \(table)").first { Int($0.int64(0)) } ?? 0 }
    }
    #expect(rows.allSatisfy { $0 > 0 } && total > 2 * report.events + 3 * rows.reduce(0, +))
    #expect(steps.count { total - $0.done < report.evidence + 3 * rows.reduce(0, +) } > 2, "\(steps)")
    #expect(report.totals.map(\.currency) == ["USD"])
    // 40 sales of 10.99, every seventh in the sandbox.
    #expect(report.totals.map(\.sales) == [35 * 1099])
    #expect(try test.ledger.verify(head: report.head).isClean)
    #expect(try test.ledger.verify(head: [1, 2, 3]).findings.map(\.location) == ["head"])
  }

  @Test func rebuildRestoresEveryByte() throws {
    let test = try filled()
    let before = try test.projections()
    try test.ledger.rebuild()
    #expect(try test.projections() == before)
    for (table, _) in LedgerSchema.projections {
      try test.ledger.database.write { try $0.execute("DELETE FROM \(table)") }
    }
    #expect(try test.ledger.verify().findingCount >= 80)
    try test.ledger.rebuild()
    #expect(try test.projections() == before)
  }

  struct Edit: Sendable, CustomTestStringConvertible {
    var sql: String
    /// The expected location.
    var location: String
    var testDescription: String { sql }
  }

  @Test(arguments: [
    Edit(sql: "UPDATE event SET body = zeroblob(10) WHERE seq = 30", location: "event 30"),
    Edit(sql: "UPDATE event SET recorded_at = recorded_at + 1 WHERE seq = 31", location: "event 31"),
    Edit(sql: "UPDATE event SET key = zeroblob(16) WHERE seq = 32", location: "event 32"),
    Edit(sql: "UPDATE event SET evidence = NULL WHERE seq = 33", location: "event 33"),
    Edit(sql: "DELETE FROM event WHERE seq = 34", location: "event 35"),
    Edit(sql: "UPDATE entitlement SET account = 2 WHERE original_id = '1'", location: "entitlement 1/1/1"),
    Edit(sql: "UPDATE entitlement SET status = 1 WHERE original_id = '5'", location: "entitlement 1/1/5"),
    Edit(sql: "DELETE FROM store_transaction WHERE transaction_id = '3'", location: "store_transaction 1/1/3"),
    Edit(
      sql: "UPDATE store_transaction SET price_milli = 0 WHERE transaction_id = '4'",
      location: "store_transaction 1/1/4"),
    Edit(sql: "UPDATE posting SET amount = 1 WHERE transaction_id = '6' AND entry = 1", location: "posting 1/1/6/1"),
    Edit(sql: "UPDATE account SET erased_seq = NULL WHERE number = 1", location: "account 1"),
    Edit(sql: "UPDATE policy SET value = 'refuse' WHERE name = 'second-claim'", location: "policy second-claim"),
    Edit(sql: "UPDATE evidence SET bytes = zeroblob(3) WHERE id = 7", location: "evidence 7"),
    Edit(sql: "UPDATE evidence SET event = NULL WHERE id = 7", location: "evidence 7"),
    Edit(sql: "UPDATE evidence SET outcome = 1 WHERE outcome = 2", location: "evidence "),
    Edit(sql: "UPDATE evidence SET outcome = 3 WHERE outcome = 2", location: "evidence "),
    Edit(sql: "INSERT INTO evidence_prefix (bytes) VALUES ('x')", location: "evidence_prefix "),
    Edit(
      sql: "CREATE TRIGGER t AFTER INSERT ON entitlement BEGIN DELETE FROM entitlement; END", location: "trigger t"),
    Edit(sql: "CREATE VIEW v AS SELECT 1", location: "view v"),
    Edit(sql: "CREATE TABLE hidden (a)", location: "table hidden"),
    Edit(sql: "DROP INDEX entitlement_account", location: "index entitlement_account"),
    Edit(
      sql: "INSERT INTO session VALUES (zeroblob(32), 1, 0, 9223372036854775807)", location: "session of account 1"),
    Edit(
      sql: "INSERT INTO store_snapshot VALUES (1, 1, 'x', zeroblob(16), NULL, zeroblob(9), zeroblob(32))",
      location: "store_snapshot 1/1/x"),
    Edit(sql: "DELETE FROM claim WHERE transaction_id = '2' AND account = 2", location: "claim 1/1/2/"),
    // Values of another type, which SQLite converts on reading but does not find.
    Edit(sql: "UPDATE account SET id = CAST(id AS TEXT) WHERE number = 2", location: "account 2"),
    Edit(sql: "UPDATE event SET key = CAST(key AS TEXT) WHERE seq = 32", location: "event 32"),
    Edit(sql: "UPDATE event SET recorded_at = recorded_at + 0.5 WHERE seq = 31", location: "event 31"),
    Edit(sql: "UPDATE evidence SET sha256 = CAST(sha256 AS TEXT) WHERE id = 7", location: "evidence 7"),
    Edit(
      sql: """
        INSERT INTO credential VALUES (2, 'ada', x'01', x'02', 1, 1, 1, 0);
        UPDATE credential SET login = CAST(login AS BLOB)
        """, location: "credential 2"),
    Edit(
      sql: "INSERT INTO session VALUES (CAST(zeroblob(32) AS TEXT), 2, 0, 9223372036854775807)", location: "session"),
  ])
  func case44_anEditedRowIsReported(_ edit: Edit) throws {
    let test = try filled()
    try test.ledger.database.write { try $0.execute(edit.sql) }
    let report = try test.ledger.verify()
    #expect(report.findings.contains { $0.location.hasPrefix(edit.location) }, "\(report.findings)")
  }

  /// Queries are answered from covering indexes, which must equal the table.
  @Test(arguments: [
    ("entitlement_account", "region.alps"), ("sqlite_autoindex_event_1", nil), ("sqlite_autoindex_evidence_1", nil),
    ("sqlite_autoindex_account_1", nil),
  ])
  func changedBytesInAnIndexAreFound(_ index: String, _ text: String?) throws {
    let test = try filled()
    let account = try test.account()
    try test.book(.sample("500"), as: account)
    let root = try test.count("SELECT rootpage FROM sqlite_schema WHERE name = '\(index)'")
    try test.ledger.database.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    test.ledger.database.close()

    // Twelve bytes of a key at the end of the page, or the text of an entry.
    var file = try test.folder.bytes("ledger.sqlite")
    let page = (root - 1) * 8192..<root * 8192
    let place = try #require(
      text.map { file.range(of: Data($0.utf8), options: .backwards, in: page) } ?? page.upperBound - 14..<page
        .upperBound - 2)
    file.replaceSubrange(place, with: Data("region.other".utf8.prefix(place.count)))
    try file.write(to: URL(fileURLWithPath: test.path))

    let ledger = try Ledger.open(at: test.path, policy: nil, clock: .fixed(TestLedger.now))
    let report = try ledger.verify()
    #expect(report.findings.contains { $0.location.hasPrefix("index \(index)") }, "\(report.findings)")
    // The remedy it reports works.
    try ledger.rebuild()
    let rebuilt = try ledger.verify()
    #expect(rebuilt.isClean, "\(rebuilt.findings)")
    #expect(try ledger.entitlements(of: account).map(\.productID) == ["region.alps"])
  }

  @Test func totalsAreExact() throws {
    let test = try TestLedger()
    // Dinars have three digits, so an amount equals the price in thousandths. 2^53 + 1 is not exact in floating point.
    for (id, amount) in [("1", Int64.max), ("2", Int64.max), ("3", 9_007_199_254_740_993)] {
      try test.book(.sample(id) { $0.price = Money(milliunits: amount, currency: "KWD") })
    }
    try test.book(
      StoreTransaction.sample("3") { $0.price = Money(milliunits: 9_007_199_254_740_993, currency: "KWD") }
        .revoked(at: TestLedger.now))
    let totals = try test.ledger.verify().totals
    #expect(totals.map { "\($0.sales) \($0.refunds)" } == ["18455751272964292607 9007199254740993"])
  }

  @Test func rowsThatFollowFromNoEventAreCounted() async throws {
    let test = try TestLedger()
    let accounts = Accounts(ledger: test.ledger, cost: .init(rounds: 16, blockSize: 1, parallelism: 1))
    _ = try await accounts.add(login: "ada", password: "correct horse")
    _ = try await accounts.signIn(login: "ada", password: "correct horse", lasting: 1000)
    let report = try test.ledger.verify()
    #expect(report.outside == [.init(table: "credential", rows: 1), .init(table: "session", rows: 1)])
  }

  /// Pulled evidence keeps its outcome when `reconcile --apply` records a part of it, and an event names it from then
  /// on.
  @Test func pulledEvidenceThatWasAppliedIsRecorded() throws {
    let test = try TestLedger()
    let piece = TestLedger.piece([.sample("3")], nil, nil, true, .operatorImport, [3])
    try Snapshot(of: test.ledger).store(SnapshotPage(evidence: [([3], try piece.1.get())], cursor: nil))
    func notBooked() throws -> Int? {
      try test.ledger.verify().outside.first { $0.table == "evidence not recorded" }?.rows
    }
    #expect(try notBooked() == 1)
    #expect(try Reconciler(ledger: test.ledger).run(apply: true).applied == 1)
    #expect(try notBooked() == nil)
  }

  /// Under the policy that refuses unsigned evidence only `reconcile --apply` records an unsigned fact, with a
  /// correction event.
  @Test func unsignedFactsAreCheckedAgainstThePolicyOfTheirTime() throws {
    let test = try TestLedger()
    func unsigned(_ id: String) -> StoreTransaction { .sample(id) { $0.trust = .unsigned } }
    try test.book(unsigned("1"))
    try test.book(.sample("2"))
    var policy = try test.ledger.policy
    policy.unsignedEvidence = .refuse
    _ = try test.ledger.change(to: policy)
    let before = try test.ledger.verify()
    #expect(before.isClean && before.unsigned == 1, "\(before.findings)")
    let seq = try #require(try test.ledger.write { try $0.append(.transaction(unsigned("3"))) })
    let refused = try test.ledger.verify()
    #expect(refused.findings.map(\.location) == ["event \(seq)"] && refused.unsigned == 2, "\(refused.findings)")
    let evidence = EvidenceDigest(TestLedger.piece([unsigned("1")]).0.evidence).sha256
    _ = try test.ledger.write {
      try $0.append(.correction(run: 1, class: .storeOnly, unsigned("3").key), evidence: evidence)
    }
    #expect(try test.ledger.verify().isClean)
  }

  /// Evidence that an import quarantines is listed, whatever its earlier outcome.
  @Test(arguments: EvidenceStore.Outcome.allCases) func quarantinedEvidenceIsListed(
    _ before: EvidenceStore.Outcome
  ) throws {
    let test = try TestLedger()
    let wait = VerificationError(.signedInFuture, "tomorrow")
    let (fact, bytes) = (StoreTransaction.sample(), Array("1".utf8))
    func pull(_ quarantine: VerificationError?) throws {
      let piece = TestLedger.piece([fact], nil, nil, true, .operatorImport, bytes, quarantine)
      try Snapshot(of: test.ledger).store(SnapshotPage(evidence: [(bytes, try piece.1.get())], cursor: nil))
    }
    func list() throws -> [String] { try test.ledger.quarantined().map(\.reason) }
    switch before {
    case .accepted: try test.book(fact, bytes: bytes)
    case .pulled: try pull(nil)
    case .quarantined, .dismissed: try test.book(fact, bytes: bytes, quarantine: wait)
    }
    if before == .dismissed {
      try test.ledger.dismissEvidence(try #require(test.ledger.quarantined().first).sha256.hexadecimal, because: "x")
      // A pull of the same evidence leaves it dismissed.
      try pull(wait)
      #expect(try list().isEmpty)
    }
    #expect(try test.book(fact, bytes: bytes, quarantine: wait).outcome == .quarantined)
    #expect(try list() == ["signed-in-future"] && test.events(.quarantine) == 1 && test.ledger.verify().isClean)
    // A pull that accepts it takes it off the list and records an event.
    let audits = try test.events(.audit)
    try pull(nil)
    #expect(try list().isEmpty && test.events(.audit) == audits + 1 && test.ledger.verify().isClean)
    #expect(try test.book(fact, bytes: bytes).outcome == (before == .accepted ? .duplicate : .accepted))
    #expect(try test.ledger.verify().isClean)
  }

  /// Evidence that leaves quarantine without being recorded has an event too.
  @Test func leavingQuarantineIsRecordedInTheChain() throws {
    let test = try TestLedger()
    let wait = VerificationError(.signedInFuture, "tomorrow")
    for id in ["1", "2"] { try test.book(.sample(id), bytes: Array(id.utf8), quarantine: wait) }
    try test.book(.sample("1"), bytes: [9])
    #expect(try test.book(.sample("1"), bytes: Array("1".utf8)).outcome == .duplicate)
    let waiting = try test.ledger.quarantined()
    #expect(waiting.map(\.sha256) == [EvidenceDigest(Array("2".utf8)).sha256])
    try test.ledger.dismissEvidence(waiting[0].sha256.hexadecimal, because: "a test")
    #expect(try test.ledger.quarantined().isEmpty && test.events(.audit) == 2)
    let report = try test.ledger.verify()
    #expect(report.isClean, "\(report.findings)")
    #expect(try test.book(.sample("1"), bytes: Array("1".utf8)).outcome == .duplicate)
    #expect(try test.events(.audit) == 2)
  }

  @Test func aTruncatedChainIsDetectedByAHeadKeptElsewhere() throws {
    let test = try filled()
    let head = try test.ledger.verify().head
    try test.ledger.database.write { try $0.execute("DELETE FROM event WHERE seq = (SELECT max(seq) FROM event)") }
    try test.ledger.rebuild()
    #expect(try test.ledger.verify().isClean)
    #expect(try test.ledger.verify(head: head).findings.map(\.location) == ["head"])
  }

  @Test func theExportHasEveryEventAndEndsWithTheHead() throws {
    let test = try filled()
    var lines: [String] = []
    try test.ledger.export(.jsonLines) { lines.append($0) }
    let report = try test.ledger.verify()
    #expect(lines.count == report.events + 1)
    for line in lines { _ = try JSONReader.read(Array(line.utf8)) }
    #expect(lines.last == "{\"events\":\(report.events),\"head\":\"\(report.head.hexadecimal)\"}\n")
  }

  @Test func theJournalBalancesAndListsSalesAndRefunds() throws {
    let test = try TestLedger()
    try test.book(.sample("1"))
    try test.book(StoreTransaction.sample("1").revoked(at: TestLedger.now))
    try test.book(
      .sample("2") {
        $0.price = Money(milliunits: 1_500_000, currency: "JPY")
        $0.environment = .sandbox
      })
    var journal = ""
    try test.ledger.export(.hledger) { journal += $0 }
    let expected = """

      commodity 1000. JPY
      commodity 1000.00 USD
      account assets:receivable:apple
      account income:refunds:apple
      account income:sales:apple
      account sandbox:assets:receivable:apple
      account sandbox:income:sales:apple

      2023-11-04 (apple:1) sale region.alps
          assets:receivable:apple  10.99 USD
          income:sales:apple  -10.99 USD

      2023-11-04 (apple:2) sale region.alps
          sandbox:assets:receivable:apple  1500 JPY
          sandbox:income:sales:apple  -1500 JPY

      2023-11-14 (apple:1) refund region.alps
          income:refunds:apple  10.99 USD
          assets:receivable:apple  -10.99 USD

      """
    #expect(journal.drop { $0 != "\n" }.dropFirst() == expected)
  }

  @Test func theHistoryOfATransactionIncludesItsCopies() throws {
    let test = try TestLedger()
    let a = try test.account()
    try test.book(.sample("1"), as: a)
    try test.book(.sample("2", original: "1"))
    try test.book(.sample("12"))
    #expect(try test.ledger.history(of: "1").map(\.type) == [.transaction, .claim, .transaction])
    #expect(try test.ledger.history(of: "nothing").isEmpty)
  }
}
