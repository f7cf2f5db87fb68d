import CSQLite
import Foundation
import PurchaseLedger
import StoreSimulators
import Support
import TestSupport
import Testing

/// `purchase-ledger status`: what needs a person, by stable words.
@Suite(.ownThread) struct LedgerStatusTests {
  private static let day: Int64 = 86_400_000

  private func soldShop() throws -> LedgerShop {
    let shop = try LedgerShop(buyers: 2)
    try shop.makeLedger()
    #expect([0, 1].contains(try shop.run("import", shop.folder.file("evidence.jsonl")).status))
    // Google's purchases of the past year were acknowledged, as a nightly job does.
    try execute(shop, "UPDATE store_transaction SET acknowledged = 1")
    return shop
  }

  private func execute(_ shop: LedgerShop, _ sql: String) throws {
    var db: OpaquePointer?
    defer { sqlite3_close(db) }
    try #require(sqlite3_open(shop.ledgerPath, &db) == SQLITE_OK)
    try #require(sqlite3_exec(db, sql, nil, nil, nil) == SQLITE_OK, "\(sql)")
  }

  private func note(_ name: String, _ value: String, at: Int64, _ shop: LedgerShop) throws {
    try execute(shop, "INSERT OR REPLACE INTO cursor VALUES ('\(name)', '\(value)', \(at))")
  }

  /// Both stores were pulled, compared and copied at a time.
  private func keep(_ shop: LedgerShop, at: Int64) throws {
    for name in ["apple.notifications", "google.voided"] {
      try note("\(name).Production", "\(at - Self.day):\(at - Self.day) \(at)", at: at, shop)
    }
    try note("last.reconcile", "clean 0", at: at, shop)
    try note("last.backup", "clean", at: at, shop)
  }

  private func codes(_ shop: LedgerShop, _ options: String..., at now: Int64 = ShopGenerator.end) throws -> [String] {
    let run = try Command(built: "purchase-ledger").run(
      ["status", "--json", "--now", "\(now)", "--config", shop.folder.file("config.json")] + options)
    let status = try JSONValue(parsing: Array(run.stdout.utf8))
    let codes = (status["conditions"]?.array ?? []).compactMap { $0["code"]?.string }
    #expect(run.status == (codes.isEmpty ? 0 : 1), "\(run)")
    #expect(status["ok"] == .bool(codes.isEmpty))
    return codes
  }

  @Test func eachConditionHasItsWord() throws {
    let shop = try soldShop()
    let end = ShopGenerator.end
    try keep(shop, at: end)
    #expect(try codes(shop) == [])
    #expect(try codes(shop, at: end + 3 * Self.day) == ["pull-late", "pull-late", "reconcile-late", "backup-late"])
    #expect(try codes(shop, "--max-age", "7d", at: end + 3 * Self.day) == [])
    let faults: [(sql: String, codes: [String])] = [
      ("INSERT INTO failed_question VALUES (2, 1, 3, 'a', 14, \(end), \(end), NULL, 'gone')", ["queue-given-up"]),
      ("INSERT INTO failed_question VALUES (2, 1, 3, 'a', 1, \(end), \(end), \(end), 'busy')", []),
      ("DELETE FROM cursor WHERE name = 'google.voided.Production'", []),
      ("INSERT INTO cursor VALUES ('window-lost.google', '\(end)', \(end))", ["window-lost"]),
      ("INSERT INTO cursor VALUES ('clock.apple.Production', '61000', \(end))", ["clock"]),
      ("INSERT INTO cursor VALUES ('clock.apple.Production', '59000', \(end))", []),
      ("UPDATE cursor SET updated_at = \(end + Self.day) WHERE name = 'apple.notifications.Production'", ["clock"]),
      ("UPDATE cursor SET value = 'found 3' WHERE name = 'last.reconcile'", ["reconcile-differs"]),
      ("INSERT INTO cursor VALUES ('backup.made', '\(end)', \(end))", ["restored", "restored"]),
      (
        "INSERT INTO lookup (store, environment, transaction_id, asked_at) VALUES (1, 1, 'x', \(end - 4 * Self.day))",
        ["queue-late"]
      ),
      (
        """
        INSERT INTO evidence (sha256, kind, outcome, received_at, bytes) VALUES (x'00', 1, 2, \(end), x'00')
        """, ["quarantine"]
      ),
      (
        """
        UPDATE store_transaction SET acknowledged = 0, statement = 1, purchase_date = \(end - 49 * 3_600_000)
        WHERE store = 2 AND transaction_id = (SELECT min(transaction_id) FROM store_transaction WHERE store = 2)
        """, ["acknowledgement-due"]
      ),
    ]
    try execute(
      shop,
      """
      CREATE TABLE IF NOT EXISTS failed_question (
        store INTEGER, environment INTEGER, kind INTEGER, id TEXT, attempts INTEGER NOT NULL,
        first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, next_at INTEGER, reason TEXT NOT NULL,
        PRIMARY KEY (store, environment, kind, id)) WITHOUT ROWID
      """)
    let file = shop.folder.file("kept.sqlite")
    try FileManager.default.copyItem(atPath: shop.ledgerPath, toPath: file)
    for fault in faults {
      for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: shop.ledgerPath + suffix) }
      try FileManager.default.copyItem(atPath: file, toPath: shop.ledgerPath)
      try execute(shop, fault.sql)
      #expect(try codes(shop) == fault.codes, "\(fault.sql)")
    }
    // Pages of a window that is not finished do not count.
    try execute(
      shop,
      """
      UPDATE cursor SET value = '\(end - 9 * Self.day):\(end - 9 * Self.day) \(end) page'
      WHERE name = 'apple.notifications.Production'
      """
    )
    #expect(try codes(shop).contains("pull-late"))
    // A store that was never pulled is missed once the ledger is older than --max-age.
    try execute(shop, "DELETE FROM cursor WHERE name = 'google.voided.Production'")
    #expect(try codes(shop, at: end + 3 * Self.day).contains("never-pulled"))
  }

  /// Reading waits for no lock, and changes no byte.
  @Test func readsALockedLedgerAndRecordsNothing() throws {
    let shop = try soldShop()
    let before = try shop.folder.bytes("ledger.sqlite")
    var db: OpaquePointer?
    defer { sqlite3_close(db) }
    try #require(sqlite3_open(shop.ledgerPath, &db) == SQLITE_OK)
    try #require(sqlite3_exec(db, "BEGIN EXCLUSIVE; UPDATE cursor SET value = value", nil, nil, nil) == SQLITE_OK)
    let run = try shop.run("status")
    #expect([0, 1].contains(run.status) && run.stdout.contains("head: "), "\(run)")
    sqlite3_exec(db, "ROLLBACK", nil, nil, nil)
    #expect(try shop.folder.bytes("ledger.sqlite") == before)
    let missing = try shop.run("status", "--ledger", shop.folder.file("none.sqlite"))
    #expect(missing.status == 3, "\(missing)")
  }

  /// The file of an earlier release.
  @Test func readsAVersionThreeFile() throws {
    let shop = try soldShop()
    try execute(shop, "DROP TABLE IF EXISTS failed_question; DROP TABLE IF EXISTS claimant; PRAGMA user_version = 3")
    let run = try shop.run("status", "--json")
    #expect([0, 1].contains(run.status) && run.stdout.contains(#""schema":3"#), "\(run)")
    #expect(try SQLiteFile.rows(shop.ledgerPath, "PRAGMA user_version") == [["3"]])
  }

  /// `reconcile` and `backup` leave a note of their last run, also where they record nothing else.
  @Test func lastReconcileAndBackupAreKnown() throws {
    let shop = try soldShop()
    for name in ["apple.notifications", "google.voided"] {
      let end = ShopGenerator.end
      try note("\(name).Production", "\(end - Self.day):\(end - Self.day) \(end)", at: end, shop)
    }
    let reconciled = try shop.run("reconcile")
    #expect([0, 1].contains(reconciled.status), "\(reconciled)")
    #expect(try shop.run("backup", shop.folder.file("copy.sqlite")).status == 0)
    let run = try shop.run("status", "--json")
    let status = try JSONValue(parsing: Array(run.stdout.utf8))
    #expect(status["reconcile"]?["ageSeconds"] == .number("0"), "\(run)")
    #expect(status["reconcile"]?["clean"] == .bool(reconciled.status == 0), "\(run)")
    #expect(status["backup"]?["clean"] == .bool(true), "\(run)")
  }
}
