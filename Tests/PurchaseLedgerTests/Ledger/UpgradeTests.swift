import Foundation
import GRDB
import TestSupport
import Testing

@testable import PurchaseLedger

extension TestLedger {
  /// Converts a closed ledger's file to the form of version 2.
  static func ageToSecondVersion(_ path: String) throws {
    try DatabaseQueue(path: path).write { db in
      try db.execute(
        sql: """
          ALTER TABLE store_transaction DROP COLUMN described; DROP TABLE quarantined_transaction;
          ALTER TABLE evidence DROP COLUMN event; DROP INDEX lookup_rank; ALTER TABLE lookup DROP COLUMN rank;
          ALTER TABLE lookup DROP COLUMN source;
          INSERT INTO progress (command, input, position, started_at) VALUES ('import', 'jane.jsonl', 'jane.jsonl 7', \
          1);
          DELETE FROM grdb_migrations WHERE identifier = 'ledger 3'; PRAGMA user_version = 2;
          """)
    }
  }

  /// Converts the file to the form of version 1.
  static func ageToFirstVersion(_ path: String) throws {
    try ageToSecondVersion(path)
    try DatabaseQueue(path: path).write { db in
      try db.execute(
        sql: """
          DROP INDEX transaction_order; DROP INDEX transaction_token_only; DROP INDEX entitlement_account;
          ALTER TABLE store_transaction DROP COLUMN voided;
          CREATE INDEX entitlement_account ON entitlement (account) WHERE account IS NOT NULL;
          UPDATE store_transaction SET digest = zeroblob(16); UPDATE store_snapshot SET digest = zeroblob(16);
          UPDATE evidence SET outcome = 1 WHERE outcome = 4;
          DELETE FROM grdb_migrations WHERE identifier = 'ledger 2'; PRAGMA user_version = 1;
          """)
    }
  }
}

/// Migration of files of older versions.
@Suite(.ownThread) struct UpgradeTests {
  @Test func version1IsMigrated() throws {
    let test = try TestLedger()
    let account = try test.account()
    for id in ["1", "2"] { try test.book(.sample(id), as: account, bytes: Array(id.utf8)) }
    let pulled = TestLedger.piece([.sample("3"), .sample("1")], nil, nil, true, .operatorImport, [3])
    try Snapshot(of: test.ledger).store(SnapshotPage(evidence: [([3], try pulled.1.get())], cursor: nil))
    let before = try test.projections()
    try test.ledger.pool.close()
    try TestLedger.ageToFirstVersion(test.path)

    let ledger = try Ledger.open(at: test.path, policy: nil, clock: .fixed(TestLedger.now))
    let report = try ledger.verify()
    #expect(report.isClean, "\(report.findings)")
    // Evidence that an event names is still known, and file names are removed.
    #expect(
      try ledger.knownEvidence([EvidenceDigest(Array("1".utf8)).sha256]) == [.init(kind: .transaction, isBooked: true)])
    #expect(try ledger.read { try String.fetchAll($0, sql: "SELECT input || position FROM progress") } == [""])
    #expect(try TestLedger.projections(ledger) == before)
    #expect(try ledger.entitlements(of: account).map(\.status) == [.active, .active])
    let reconciled = try Reconciler(ledger: ledger).run(apply: false)
    #expect(reconciled[.matched] == 1 && reconciled[.storeOnly] == 1 && reconciled.staleSnapshots == 0)
    // Evidence that was only pulled counts as new when it is imported.
    #expect(try ledger.commit([pulled], progress: nil).map(\.outcome) == [.accepted])
    #expect(try ledger.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == Int(LedgerSchema.version))
  }

  /// Version 1 does not distinguish pulled evidence from imported evidence: of a pulled notification
  /// `reconcile --apply` recorded only the transaction.
  @Test func aPartlyAppliedNotificationOfVersion1IsRecordedAgain() throws {
    let test = try TestLedger()
    func message(_ id: String) -> NotificationFact {
      NotificationFact(
        store: .apple, environment: .production, uuid: id, type: "TEST", subtype: nil, signedDate: TestLedger.now,
        transaction: StoreTransaction.sample(id).key)
    }
    let pulled = TestLedger.piece([.sample("3")], message("3"), nil, true, .operatorImport, [3])
    try test.book(.sample("4"), notification: message("4"), bytes: [4])
    try Snapshot(of: test.ledger).store(SnapshotPage(evidence: [([3], try pulled.1.get())], cursor: nil))
    #expect(try Reconciler(ledger: test.ledger).run(apply: true).applied == 1)
    try test.ledger.pool.close()
    try TestLedger.ageToFirstVersion(test.path)

    let ledger = try Ledger.open(at: test.path, policy: nil, clock: .fixed(TestLedger.now))
    let known = try ledger.knownEvidence([[3], [4]].map { EvidenceDigest($0).sha256 })
    #expect(known == [nil, .init(kind: .notification, isBooked: true)])
    #expect(try ledger.verify().isClean)
    #expect(try ledger.commit([pulled], progress: nil).map(\.outcome) == [.accepted])
    #expect(try ledger.verify().isClean)
  }

  /// In version 2 the greater value of a field wins regardless of its date.
  @Test func version2IsFoldedAgain() throws {
    let test = try TestLedger()
    try test.book(.sample("1") { $0.productID = "region.zzz" })
    let later = StoreTransaction.sample("1", signed: TestLedger.now)
    try test.book(later)
    let quarantined = TestLedger.piece(
      [.sample("q")], nil, nil, true, .operatorImport, [7], VerificationError(.retryLater, "later"))
    _ = try test.ledger.commit([quarantined], progress: nil)
    let piece = TestLedger.piece([.sample("1") { $0.productID = "region.zzz" }, later])
    try Snapshot(of: test.ledger).store(SnapshotPage(evidence: [([3], try piece.1.get())], cursor: nil))
    let before = try test.projections()
    try test.ledger.pool.close()
    try DatabaseQueue(path: test.path).write { db in
      try db.execute(
        sql: """
          UPDATE store_transaction SET digest = zeroblob(16), product_id = 'region.zzz';
          UPDATE entitlement SET product_id = 'region.zzz'; UPDATE store_snapshot SET digest = zeroblob(16);
          """)
    }
    try TestLedger.ageToSecondVersion(test.path)

    // Opening it read-only migrates it too.
    let ledger = try Ledger.openToRead(at: test.path, clock: .fixed(TestLedger.now))
    #expect(try TestLedger.projections(ledger) == before)
    #expect(try ledger.entitlement(of: later.key)?.productID == "region.alps")
    #expect(try ledger.verify().isClean)
    var lines: [ReconcileLine] = []
    let report = try Reconciler(ledger: ledger).run(apply: false, each: { lines.append($0) })
    #expect(report[.matched] == 1 && lines.map(\.transaction?.id) == ["q"])
    #expect(try ledger.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 3)
  }
}
