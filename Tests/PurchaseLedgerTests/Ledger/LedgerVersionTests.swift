import Foundation
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// Files of other versions are refused, and not written.
@Suite(.ownThread) struct LedgerVersionTests {
  /// A copy of a ledger's file and log, as a crash leaves them.
  private func copy(of path: String, in folder: TemporaryFolder) throws -> String {
    let copy = folder.file("copy.sqlite")
    for suffix in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix) }
    return copy
  }

  /// Reading commands read a file of version 3 as it is; what opens it to write brings it to the present version.
  @Test(arguments: [false, true]) func version3IsMigrated(isNamedAgain: Bool) throws {
    let test = try TestLedger()
    let account = try test.account()
    test.ledger.close()
    // A process of version 3 that still has a migrated file open may name its version again.
    let tables =
      isNamedAgain
      ? ""
      : """
      DROP TABLE failed_question; DROP TABLE claimant; DROP TABLE entitlement; DROP TABLE trait; DROP TABLE act;
      DROP TABLE refund_question; \(LedgerSchema.entitlement(version: 3))
      """
    let older = try SQLiteConnection(uri: SQLiteConnection.uri(path: test.path, parameters: []), flags: 2)
    try older.execute("\(tables) PRAGMA user_version = 3")
    try older.close()
    if !isNamedAgain {
      let reading = try Ledger.openToRead(at: test.path, clock: .fixed(TestLedger.now))
      #expect(try reading.verify().isClean && reading.queue().items.isEmpty && reading.failedQuestions().isEmpty)
      #expect(try reading.read { try $0.rows("PRAGMA user_version") } == ["3"])
      reading.close()
    }
    let opened = try Ledger.open(at: test.path, policy: nil, clock: .fixed(TestLedger.now))
    #expect(try opened.read { try $0.rows("PRAGMA user_version") } == ["5"])
    #expect(try opened.verify().isClean && opened.entitlements(of: account).isEmpty)
    opened.close()
  }

  /// What a file of version 4 lacks is made from its events: questions about refunds, and entitlements without an end.
  @Test func version4IsReadAndMigrated() throws {
    let test = try TestLedger()
    let account = try test.account()
    let fact = StoreTransaction.sample("1")
    let note = NotificationFact(
      store: .apple, environment: .production, uuid: "u", type: "CONSUMPTION_REQUEST", subtype: nil,
      signedDate: TestLedger.now - 1000, transaction: fact.key)
    try test.book(fact, notification: note, as: account)
    let before = try test.projections()
    test.ledger.close()
    let older = try SQLiteConnection(uri: SQLiteConnection.uri(path: test.path, parameters: []), flags: 2)
    try older.execute(
      """
      CREATE TEMP TABLE earlier AS SELECT * FROM main.entitlement; ALTER TABLE temp.earlier DROP COLUMN until;
      DROP TABLE main.entitlement; DROP TABLE trait; DROP TABLE act; DROP TABLE refund_question;
      \(LedgerSchema.entitlement(version: 4)) INSERT INTO main.entitlement SELECT * FROM temp.earlier;
      PRAGMA user_version = 4
      """)
    try older.close()
    let reading = try Ledger.openToRead(at: test.path, clock: .fixed(TestLedger.now))
    #expect(try reading.verify().isClean && reading.entitlements(of: account).map(\.status) == [.active])
    #expect(try reading.queue().items.isEmpty && reading.read { try $0.rows("PRAGMA user_version") } == ["4"])
    reading.close()
    #expect(try LedgerStatus.read(test.path, clock: .fixed(TestLedger.now)).schemaVersion == 4)
    let opened = try Ledger.open(at: test.path, policy: nil, clock: .fixed(TestLedger.now))
    #expect(try opened.verify().isClean && TestLedger.projections(opened) == before)
    #expect(try opened.refundQuestions().map(\.key.id) == ["1"])
    opened.close()
  }

  /// A command that is killed while it migrates a file that a release of version 3 wrote leaves one version or the
  /// other, and the next one goes on.
  @Test(arguments: [0, 10, 30, 100]) func aKilledMigrationLeavesAWholeFile(milliseconds: UInt32) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("ledger.sqlite")
    let fixture = ProjectFiles.path("Tests/CommandTests/Fixtures/2026-11/ledger.sqlite")
    try FileManager.default.copyItem(atPath: fixture, toPath: path)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try Command(built: "purchase-ledger").path)
    process.arguments = ["queue", "--retry", "--ledger", path]
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    usleep(milliseconds * 1000)
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    let reading = try Ledger.openToRead(at: path, clock: .system)
    #expect(try ["3", "5"].contains(reading.read { try $0.rows("PRAGMA user_version") }[0]))
    #expect(try reading.verify().isClean && reading.queue().items.isEmpty)
    reading.close()
    let opened = try Ledger.open(at: path, policy: nil, clock: .system)
    #expect(try opened.read { try $0.rows("PRAGMA user_version") } == ["5"] && opened.verify().isClean)
    opened.close()
  }

  /// The version is only in the log.
  @Test(arguments: [(99, "newer version"), (2, "version 2"), (0, "version 0")])
  func anotherVersionIsRefused(_ version: Int, _ words: String) throws {
    let test = try TestLedger()
    let folder = try TemporaryFolder()
    try test.ledger.write { try $0.db.execute("PRAGMA user_version = \(version)") }
    let copy = try copy(of: test.path, in: folder)
    #expect(try Data(contentsOf: URL(fileURLWithPath: copy))[63] == 5)
    for open in [
      { try Ledger.openToRead(at: copy, clock: .system) }, { try Ledger.open(at: copy, policy: nil, clock: .system) },
    ] {
      let error = #expect(throws: LedgerError.self) { try open() }
      #expect(error?.code == .notALedger && error?.message.contains(words) == true)
    }
  }
}
