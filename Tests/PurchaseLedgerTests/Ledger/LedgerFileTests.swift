import Foundation
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// The ledger's file: creating, opening, and refusing other files.
@Suite(.ownThread) struct LedgerFileTests {
  @Test func theWriterSyncsEveryCommit() throws {
    let test = try TestLedger()
    for ledger in [test.ledger, try Ledger.open(at: test.path, policy: nil, clock: .system)] {
      let values = try ledger.database.writeWithoutTransaction { db in
        try [
          "journal_mode", "synchronous", "foreign_keys", "secure_delete", "page_size", "application_id", "user_version",
        ]
        .flatMap { try db.rows("PRAGMA \($0)") }
      }
      #expect(values == ["wal", "2", "1", "1", "8192", "1297108036", "5"])
    }
  }

  @Test func otherFilesAreRefusedAndNotChanged() throws {
    let folder = try TemporaryFolder()
    let other = folder.file("other.sqlite")
    try SQLiteConnection(creating: other).execute("CREATE TABLE t (a)")
    let bytes = try folder.bytes("other.sqlite")
    let text = try folder.write("notes.txt", "not a database")
    for path in [other, text] {
      #expect(throws: LedgerError.self) { try Ledger.create(at: path, policy: .init(), clock: .system) }
      #expect { try Ledger.open(at: path, policy: nil, clock: .system) } throws: {
        ($0 as? LedgerError)?.code == .notALedger
      }
    }
    #expect(try folder.bytes("other.sqlite") == bytes)
    #expect { try Ledger.open(at: folder.file("none"), policy: nil, clock: .system) } throws: {
      ($0 as? LedgerError)?.code == .noLedger
    }
    #expect(folder.names == ["notes.txt", "other.sqlite"])
    #expect { try Ledger.open(at: folder.path, policy: nil, clock: .system) } throws: {
      ($0 as? LedgerError)?.code == .notALedger && "\($0)".contains("\(folder.path)")
    }
    #expect(throws: LedgerError.self) { try Ledger.create(at: folder.path, policy: .init(), clock: .system) }
  }

  /// SQLite would apply the log of another ledger to a new one.
  @Test func aLeftoverLogIsNotAppliedToANewLedger() throws {
    let folder = try TemporaryFolder()
    _ = try folder.write("ledger.sqlite-wal", "changes")
    #expect { try Ledger.create(at: folder.file("ledger.sqlite"), policy: .init(), clock: .system) } throws: {
      ($0 as? LedgerError)?.code == .configuration && "\($0)".contains("ledger.sqlite-wal")
    }
    #expect(folder.names == ["ledger.sqlite-wal"])
  }

  @Test func anUnfinishedLedgerIsReplaced() throws {
    let folder = try TemporaryFolder()
    for suffix in ["", "-journal", "-wal", "-shm"] { _ = try folder.write(".l.unfinished" + suffix, "half a page") }
    for other in ["l.new", "k"] { try SQLiteConnection(creating: folder.file(other)).close() }
    let others = folder.names.filter { !$0.contains("unfinished") }
    #expect(try Ledger.create(at: folder.file("l"), policy: .init(), clock: .system).verify().isClean)
    #expect(folder.names.filter { $0 != "l" && $0 != "l-wal" && $0 != "l-shm" } == others)
  }

  @Test func anEmptyFileCanBecomeALedger() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("temporary", "")
    try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: path)
    #expect(try Ledger.create(at: folder.file("link"), policy: .init(), clock: .system).verify().isClean)
    #expect(try Ledger.open(at: path, policy: nil, clock: .system).verify().isClean)
    #expect(throws: LedgerError.self) { try Ledger.create(at: path, policy: .init(), clock: .system) }
  }

  /// Password hashes and purchases are readable by the owner only, also in the write-ahead log.
  @Test func onlyTheOwnerMayReadTheFile() throws {
    let folder = try TemporaryFolder()
    let ledger = try Ledger.create(at: folder.file("ledger.sqlite"), policy: .init(), clock: .system)
    for name in folder.names {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name))
      #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
    }
    #expect(folder.names.contains("ledger.sqlite-wal"))
    withExtendedLifetime(ledger) {}
  }

  /// A journal beside a ledger is another file's: it is neither rolled back nor taken for a lack of permission.
  @Test func aStrayJournalIsNamed() throws {
    let folder = try TemporaryFolder()
    try Ledger.create(at: folder.file("l"), policy: .init(), clock: .system).close()
    try folder.write("l-journal", bytes: (0..<8192).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    for open in [Ledger.openToRead, { try Ledger.open(at: $0, policy: nil, clock: $1) }] {
      let error = #expect(throws: LedgerError.self) { _ = try open(folder.file("l"), .system) }
      #expect(error?.message == "l-journal lies beside it, which is another file's" && error?.remedy != nil)
    }
    try FileManager.default.removeItem(atPath: folder.file("l-journal"))
    #expect(try Ledger.openToRead(at: folder.file("l"), clock: .system).verify().isClean)
  }

  @Test func theEnvironmentOfALedgerIsFixed() throws {
    let test = try TestLedger()
    var policy = LedgerPolicy()
    policy.environment = .sandbox
    #expect { try Ledger.open(at: test.path, policy: policy, clock: .system) } throws: {
      ($0 as? LedgerError)?.code == .configuration
    }
  }

  @Test func aBatchIsStoredWithItsPositionAndResumed() throws {
    let test = try TestLedger()
    var run = try test.ledger.startRun(of: "import", input: "a.jsonl")
    #expect(run.position.isEmpty)
    run.position = "line 2"
    _ = try test.ledger.commit([TestLedger.piece([.sample("1")])], progress: run)
    #expect(try test.ledger.startRun(of: "import", input: "a.jsonl") == run)
    #expect(try test.ledger.startRun(of: "import", input: "b.jsonl").run != run.run)
    run.isFinished = true
    _ = try test.ledger.commit([TestLedger.piece([.sample("2")])], progress: run)
    #expect(try test.ledger.startRun(of: "import", input: "a.jsonl").position.isEmpty)
  }

  @Test func aFailedBatchWritesNothing() throws {
    let test = try TestLedger()
    let events = try test.count("SELECT count(*) FROM event")
    #expect(throws: LedgerError.self) {
      try test.ledger.write { recorder in
        _ = try recorder.book(PreparedEvidence(TestLedger.piece([.sample()]).0, TestLedger.piece([.sample()]).1))
        throw LedgerError(.database, at: "", "the disk went away")
      }
    }
    #expect(try test.count("SELECT count(*) FROM event") == events)
    #expect(try test.book(.sample()).outcome == .accepted)
    #expect(try test.ledger.verify().isClean)
  }

  /// Queries of every commit and read must not scan a table.
  @Test(arguments: [
    (OrderTokens.selectOrder, "transaction_order (environment=? AND <expr>=?)"),
    (OrderTokens.selectTokenOnly, "transaction_token_only"),
    (Projections.selectAnyCopy, "transaction_copies"),
    ("\(Ledger.ownedGrants) AND product_id = ?", "COVERING INDEX entitlement_account (account=? AND product_id=?)"),
  ])
  func frequentQueriesUseAnIndex(_ sql: String, _ index: String) throws {
    let test = try TestLedger()
    let plan = try test.ledger.read { db in
      let select = try db.prepare("EXPLAIN QUERY PLAN \(sql)")
      for index in 0..<sql.count(where: { $0 == "?" }) { select.bind(Int32(index) + 1, "x") }
      return try select.all { $0.text(3) }
    }
    #expect(plan.contains { $0.contains(index) }, "\(plan)")
  }
}
