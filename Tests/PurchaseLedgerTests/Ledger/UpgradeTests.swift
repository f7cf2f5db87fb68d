import Foundation
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

extension TestLedger {
  /// Converts a closed ledger's file to the form of version 2.
  static func ageToSecondVersion(_ path: String) throws {
    let db = try SQLiteConnection(creating: path)
    try db.transaction(.immediate) {
      try db.execute(
        """
        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
        INSERT INTO grdb_migrations VALUES ('ledger 1'), ('ledger 2');
        ALTER TABLE store_transaction DROP COLUMN described; DROP TABLE quarantined_transaction;
        ALTER TABLE evidence DROP COLUMN event; DROP INDEX lookup_rank; ALTER TABLE lookup DROP COLUMN rank;
        ALTER TABLE lookup DROP COLUMN source;
        INSERT INTO progress (command, input, position, started_at) VALUES ('import', 'jane.jsonl', 'jane.jsonl 7', 1);
        PRAGMA user_version = 2;
        """)
    }
  }

  /// Converts the file to the form of version 1.
  static func ageToFirstVersion(_ path: String) throws {
    try ageToSecondVersion(path)
    let db = try SQLiteConnection(creating: path)
    try db.transaction(.immediate) {
      try db.execute(
        """
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
    test.ledger.database.close()
    try TestLedger.ageToFirstVersion(test.path)

    let ledger = try Ledger.open(at: test.path, policy: nil, clock: .fixed(TestLedger.now))
    let report = try ledger.verify()
    #expect(report.isClean, "\(report.findings)")
    // Evidence that an event names is still known, and file names are removed.
    #expect(
      try ledger.knownEvidence([EvidenceDigest(Array("1".utf8)).sha256]) == [.init(kind: .transaction, isBooked: true)])
    #expect(try ledger.read { try $0.rows("SELECT input || position FROM progress") } == [""])
    #expect(try TestLedger.projections(ledger) == before)
    #expect(try ledger.entitlements(of: account).map(\.status) == [.active, .active])
    let reconciled = try Reconciler(ledger: ledger).run(apply: false)
    #expect(reconciled[.matched] == 1 && reconciled[.storeOnly] == 1 && reconciled.staleSnapshots == 0)
    // Evidence that was only pulled counts as new when it is imported.
    #expect(try ledger.commit([pulled], progress: nil).map(\.outcome) == [.accepted])
    #expect(try test.count("PRAGMA user_version", in: ledger) == Int(LedgerSchema.version))
    // The table of migrations that earlier versions kept is gone.
    #expect(try test.count("SELECT count(*) FROM sqlite_schema WHERE name = 'grdb_migrations'", in: ledger) == 0)
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
    test.ledger.database.close()
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
    test.ledger.database.close()
    try SQLiteConnection(creating: test.path).execute(
      """
      UPDATE store_transaction SET digest = zeroblob(16), product_id = 'region.zzz';
      UPDATE entitlement SET product_id = 'region.zzz'; UPDATE store_snapshot SET digest = zeroblob(16);
      """)
    try TestLedger.ageToSecondVersion(test.path)

    // Opening it read-only migrates it too.
    let ledger = try Ledger.openToRead(at: test.path, clock: .fixed(TestLedger.now))
    #expect(try TestLedger.projections(ledger) == before)
    #expect(try ledger.entitlement(of: later.key)?.productID == "region.alps")
    #expect(try ledger.verify().isClean)
    var lines: [ReconcileLine] = []
    let report = try Reconciler(ledger: ledger).run(apply: false, each: { lines.append($0) })
    #expect(report[.matched] == 1 && lines.map(\.transaction?.id) == ["q"])
    #expect(try test.count("PRAGMA user_version", in: ledger) == 3)
  }

  /// A copy of a ledger's file and log, as a crash leaves them.
  private func copy(of path: String, in folder: TemporaryFolder) throws -> String {
    let copy = folder.file("copy.sqlite")
    for suffix in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix) }
    return copy
  }

  private func versionInHeader(_ path: String) throws -> UInt8 {
    try Data(contentsOf: URL(fileURLWithPath: path))[63]
  }

  @Test func aMigrationThatIsOnlyInTheLogIsSeen() throws {
    let test = try TestLedger()
    try test.book(.sample("1"))
    let before = try test.projections()
    test.ledger.database.close()
    try TestLedger.ageToSecondVersion(test.path)
    let folder = try TemporaryFolder()
    let migrated = try Ledger.open(at: test.path, policy: nil, clock: .fixed(TestLedger.now))
    let copy = try copy(of: test.path, in: folder)
    migrated.close()
    #expect(try versionInHeader(copy) == 2)

    let ledger = try Ledger.openToRead(at: copy, clock: .fixed(TestLedger.now))
    #expect(try TestLedger.projections(ledger) == before)
    // It needs no migration, so it is not opened to write.
    #expect(throws: LedgerError.self) { try ledger.commits.probe() }
  }

  @Test func aNewerVersionThatIsOnlyInTheLogIsRefused() throws {
    let test = try TestLedger()
    let folder = try TemporaryFolder()
    try test.ledger.write { try $0.db.execute("PRAGMA user_version = 99") }
    let copy = try copy(of: test.path, in: folder)
    #expect(try versionInHeader(copy) == 3)
    for open in [
      { try Ledger.openToRead(at: copy, clock: .system) }, { try Ledger.open(at: copy, policy: nil, clock: .system) },
    ] {
      let error = #expect(throws: LedgerError.self) { try open() }
      #expect(error?.code == .notALedger && error?.message.contains("newer version") == true)
    }
  }
}
