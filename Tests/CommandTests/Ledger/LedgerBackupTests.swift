import CSQLite
import Foundation
import PurchaseLedger
import TestSupport
import Testing

/// Backups while others write, and the content of the ledger's own file while nobody does.
@Suite(.ownThread) struct LedgerBackupTests {
  private func expectClean(_ shop: LedgerShop, _ path: String, _ comment: Comment) throws {
    let run = try shop.run("verify", "--ledger", path)
    #expect(run.status == 0, "\(comment): \(run)")
  }

  /// A backup holds everything committed before it begins; it neither blocks writers nor is damaged by them.
  @Test func backupHoldsEverythingCommittedBeforeIt() async throws {
    let shop = try LedgerShop(buyers: 40)
    try shop.makeLedger()
    let ledger = try Ledger.open(at: shop.ledgerPath, policy: nil, clock: .system)
    defer { ledger.close() }
    let writer = Task.detached {
      var booked = 0
      while !Task.isCancelled {
        try await ledger.recordAudit(kind: "test", account: nil, subject: "\(booked)", outcome: "done", detail: nil)
        booked += 1
      }
      return booked
    }
    let importing = try shop.start("import", shop.folder.file("evidence.jsonl"), "--batch", "2", "--report", "json")
    for round in 0..<3 {
      #expect(importing.wait { importing.stdout.count(where: \.isNewline) > 20 * round })
      // Only complete lines count.
      let accepted = importing.stdout.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        .count { $0.contains("\"outcome\":\"accepted\"") }
      let before = try SQLiteFile.rows(shop.ledgerPath, "SELECT seq, hex(hash) FROM event ORDER BY seq DESC LIMIT 1")[0]
      let copy = shop.folder.file("copy\(round).sqlite")
      let run = try shop.run("backup", copy, "--json", "--progress", "json")
      #expect(run.status == 0 && run.stderr.contains(#""unit":"pages""#), "\(run)")
      #expect(try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int == 0o600)
      let kept = try SQLiteFile.rows(copy, "SELECT count(*) FROM evidence WHERE outcome = 1")[0][0]
      #expect(try #require(Int(kept)) >= accepted)
      let verified = try shop.run("verify", "--ledger", copy, "--head", before[1])
      #expect(verified.status == 0, "\(verified)")
      let head = try #require(run.stdout.firstMatch(of: /"head":"([0-9a-f]{64})"/)?.1)
      #expect(verified.stdout.contains("head \(head)"), "\(verified)")
      #expect(try shop.run("verify", "--head", String(head)).status == 0)
    }
    #expect([0, 1].contains(importing.wait().status))
    writer.cancel()
    #expect(try await writer.value > 0)
    #expect(!shop.folder.names.contains { $0.hasSuffix(".unfinished") })
  }

  @Test func backupReplacesAFileOnlyWithForce() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    let copy = try shop.folder.write("copy.sqlite", "somebody's")
    let refused = try shop.run("backup", copy)
    #expect(refused.status == 2 && refused.stderr.contains("copy.sqlite: the file exists already"), "\(refused)")
    #expect(refused.stderr.contains("or replace it with --force"), "\(refused)")
    #expect(try String(decoding: shop.folder.bytes("copy.sqlite"), as: UTF8.self) == "somebody's")
    #expect(try shop.run("backup", copy, "--force").status == 0)
    #expect(try shop.run("backup", "-o", copy, "--force").status == 0)
    #expect(try shop.run("backup").status == 64 && shop.run("backup", copy, "-o", copy).status == 64)
    // Control characters and line breaks in names are escaped.
    let odd = try shop.run("backup", shop.folder.file("\u{1b}[2J\n.sqlite"))
    #expect(odd.status == 0 && odd.stdout.contains(#"/\u001b[2J\n.sqlite: "#), "\(odd)")
    try expectClean(shop, copy, "replaced")
    try FileManager.default.createSymbolicLink(
      atPath: shop.folder.file("link"), withDestinationPath: shop.ledgerPath)
    for own in [shop.ledgerPath, shop.folder.file("link"), shop.ledgerPath + "-wal"] {
      let run = try shop.run("backup", own, "--force")
      #expect(run.status == 2 && run.stderr.contains("the ledger itself"), "\(run)")
    }
    let missing = try shop.run("backup", shop.folder.file("no/such/folder"))
    #expect(missing.status == 3, "\(missing)")
    try expectClean(shop, shop.ledgerPath, "the ledger")
  }

  /// A ledger whose hash chain is broken is not copied.
  @Test func damagedLedgerIsNotBackedUp() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    var connection: OpaquePointer?
    #expect(sqlite3_open(shop.ledgerPath, &connection) == SQLITE_OK)
    #expect(sqlite3_exec(connection, "UPDATE event SET recorded_at = 1 WHERE seq = 2", nil, nil, nil) == SQLITE_OK)
    sqlite3_close(connection)
    let run = try shop.run("backup", shop.folder.file("copy.sqlite"))
    #expect(run.status == 3 && run.stderr.contains("event 2"), "\(run)")
    #expect(!shop.folder.names.contains { $0.contains("copy") })
  }

  @Test func killedBackupLeavesNoPartialFile() throws {
    let shop = try LedgerShop(buyers: 20)
    try shop.makeLedger()
    #expect([0, 1].contains(try shop.run("import", shop.folder.file("evidence.jsonl")).status))
    let whole = try shop.run("backup", shop.folder.file("copy.sqlite"))
    #expect(whole.status == 0, "\(whole)")
    var random = SeededGenerator(seed: 3)
    for round in 0..<8 {
      try? FileManager.default.removeItem(atPath: shop.folder.file("copy.sqlite"))
      let child = try shop.start("backup", shop.folder.file("copy.sqlite"))
      usleep(UInt32(Double.random(in: 0...whole.seconds, using: &random) * 1e6))
      child.send(SIGKILL)
      _ = child.wait()
      if shop.folder.names.contains("copy.sqlite") {
        try expectClean(shop, shop.folder.file("copy.sqlite"), "round \(round)")
      }
    }
    #expect(try shop.run("backup", shop.folder.file("copy.sqlite"), "--force").status == 0)
    #expect(!shop.folder.names.contains { $0.contains("unfinished") })
    try expectClean(shop, shop.folder.file("copy.sqlite"), "the end")
  }

  /// Also while another process has the ledger open, which keeps the log.
  @Test func commandsEmptyTheWriteAheadLog() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    var other: OpaquePointer?
    defer { sqlite3_close(other) }
    #expect(sqlite3_open(shop.ledgerPath, &other) == SQLITE_OK)
    #expect(sqlite3_exec(other, "SELECT count(*) FROM event", nil, nil, nil) == SQLITE_OK)
    let password = try shop.folder.write("password", "correct horse")
    for login in ["ada", "grace"] {
      let run = try shop.run("account", "add", login, "--password-file", password)
      #expect(run.status == 0, "\(run)")
      let copy = shop.folder.file("copy-\(login).sqlite")
      try FileManager.default.copyItem(atPath: shop.ledgerPath, toPath: copy)
      #expect(try SQLiteFile.rows(copy, "SELECT count(*) FROM credential WHERE login = '\(login)'") == [["1"]])
    }
    #expect([0, 1].contains(try shop.run("import", shop.folder.file("evidence.jsonl")).status))
    #expect((try? shop.folder.bytes("ledger.sqlite-wal"))?.isEmpty ?? true)
  }

  /// The file's name may contain a person's name too.
  @Test func erasedLoginIsNowhereInTheLedgersFiles() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    let login = "jane@example.org"
    let password = try shop.folder.write("password", "correct horse")
    #expect(try shop.run("account", "add", login, "--password-file", password).status == 0)
    try FileManager.default.moveItem(
      atPath: shop.folder.file("evidence.jsonl"), toPath: shop.folder.file("\(login).jsonl"))
    #expect([0, 1].contains(try shop.run("import", shop.folder.file("\(login).jsonl"), "--account", login).status))
    func contains() -> Bool {
      ["ledger.sqlite", "ledger.sqlite-wal"].contains {
        (try? shop.folder.bytes($0))?.range(of: Data(login.utf8)) != nil
      }
    }
    #expect(contains())
    #expect(try shop.run("account", "erase", login).status == 0)
    #expect(!contains())
  }
}
