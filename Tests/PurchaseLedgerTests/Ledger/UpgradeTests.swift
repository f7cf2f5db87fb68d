import Foundation
import GRDB
import TestSupport
import Testing

@testable import PurchaseLedger

/// Files of older versions.
@Suite(.ownThread) struct UpgradeTests {
  /// Takes a ledger back to the first version's form.
  private func age(_ path: String) throws {
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

  @Test func theFirstVersionIsBroughtIntoThisForm() throws {
    let test = try TestLedger()
    let account = try test.account()
    for id in ["1", "2"] { try test.book(.sample(id), as: account, bytes: Array(id.utf8)) }
    let pulled = TestLedger.piece([.sample("3"), .sample("1")], nil, nil, true, .operatorImport, [3])
    try Snapshot(of: test.ledger).store(SnapshotPage(evidence: [([3], try pulled.1.get())], cursor: nil))
    let before = try test.projections()
    try test.ledger.pool.close()
    try age(test.path)

    let ledger = try Ledger.open(at: test.path, policy: nil, clock: .fixed(TestLedger.now))
    #expect(try ledger.verify().isClean)
    #expect(try TestLedger.projections(ledger) == before)
    #expect(try ledger.entitlements(of: account).map(\.status) == [.active, .active])
    let report = try Reconciler(ledger: ledger).run(apply: false)
    #expect(report[.matched] == 1 && report[.storeOnly] == 1 && report.staleSnapshots == 0)
    // What was only pulled counts as new when it is imported.
    #expect(try ledger.commit([pulled], progress: nil).map(\.outcome) == [.accepted])
    #expect(try ledger.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == Int(LedgerSchema.version))
  }
}
