import Foundation
import PurchaseLedger
import StoreSimulators
import TestSupport
import Testing

/// The spool beside a ledger: what was acknowledged comes back after a restore of an older backup.
@Suite(.ownThread) struct LedgerSpoolTests {
  private func remove(_ shop: LedgerShop) throws {
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: shop.ledgerPath + suffix) }
  }

  /// Puts a backup in the place of the ledger; the spool stays.
  private func restore(_ backup: String, _ shop: LedgerShop) throws {
    try remove(shop)
    try FileManager.default.copyItem(atPath: backup, toPath: shop.ledgerPath)
  }

  private func grants(_ path: String, _ shop: LedgerShop) throws -> [String] {
    let ledger = try Ledger.open(at: path, policy: nil, clock: .fixed(ShopGenerator.end))
    defer { ledger.close() }
    return try shop.shop.accounts.flatMap { account in
      try ledger.entitlements(of: account.id).map { "\(account.id) \($0.grant.id) \($0.status) \($0.reason)" }
    }.sorted()
  }

  /// A shop with a backup of before its purchases, and its ledger after them.
  private func soldShop(buyers: Int = 6) throws -> (LedgerShop, backup: String) {
    let shop = try LedgerShop(buyers: buyers)
    try shop.makeLedger()
    let backup = shop.folder.file("backup.sqlite")
    #expect(try shop.run("backup", backup).status == 0)
    #expect([0, 1].contains(try shop.run("import", shop.folder.file("evidence.jsonl")).status))
    return (shop, backup)
  }

  @Test func restoredBackupAndSpoolHaveWhatTheLedgerHad() throws {
    let (shop, backup) = try soldShop()
    let expected = try grants(shop.ledgerPath, shop)
    #expect(expected.count > 5 && expected.contains { $0.contains("GPA.") }, "\(expected)")
    try restore(backup, shop)
    #expect(try grants(shop.ledgerPath, shop).isEmpty)
    let merged = try shop.run("merge", shop.ledgerPath + ".spool")
    #expect(merged.status == 0, "\(merged)")
    #expect(try grants(shop.ledgerPath, shop) == expected)
    #expect(try shop.run("verify").status == 0)
    #expect(try shop.run("merge", shop.ledgerPath + ".spool").stdout.hasPrefix("0 accepted, "))
    #expect(
      try FileManager.default.attributesOfItem(atPath: shop.ledgerPath + ".spool")[.posixPermissions] as? Int == 0o600)
  }

  /// `kill -9` at random instants; the ledger's own file is lost as well.
  @Test func killedImportLosesNothingThatItAcknowledged() throws {
    let shop = try LedgerShop(buyers: 20, seed: 3)
    let evidence = shop.folder.file("evidence.jsonl")
    try shop.makeLedger()
    let backup = shop.folder.file("backup.sqlite")
    #expect(try shop.run("backup", backup).status == 0)
    var seconds = 0.5
    var random = SeededGenerator(seed: 23)
    for round in 0..<(TestEffort.isFull ? 100 : 4) {
      try restore(backup, shop)
      try? FileManager.default.removeItem(atPath: shop.ledgerPath + ".spool")
      let child = try shop.start("import", evidence, "--batch", "4", "--report", "json")
      usleep(UInt32(Double.random(in: 0.1...1, using: &random) * seconds * 1e6))
      child.send(SIGKILL)
      let run = child.wait()
      seconds = max(seconds, min(run.seconds * 1.5, 5))
      // Only complete lines count: a kill may cut one off.
      let acknowledged = run.stdout.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        .filter { $0.contains("\"outcome\":\"accepted\"") }
      try restore(backup, shop)
      if FileManager.default.fileExists(atPath: shop.ledgerPath + ".spool") {
        let merged = try shop.run("merge", shop.ledgerPath + ".spool")
        #expect(merged.status == 0, "round \(round): \(merged)")
      } else {
        #expect(acknowledged.isEmpty, "round \(round): no spool")
      }
      let again = try shop.run("import", evidence, "--report", "json").stdoutLines
      for line in acknowledged {
        let number = try #require(line.firstMatch(of: /"line":(\d+)/).flatMap { Int($0.1) })
        #expect(again[number - 1].contains("\"outcome\":\"duplicate\""), "round \(round): lost \(line)")
      }
      #expect(try shop.run("verify").status == 0, "round \(round)")
    }
  }

  /// A process that was killed while it wrote leaves a part of a line, which the next one removes.
  @Test func partOfALineIsRemoved() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    let spool = shop.ledgerPath + ".spool"
    let whole = try shop.folder.bytes("ledger.sqlite.spool")
    for torn in [#"{"time":17"#, String(repeating: "x", count: 200_000)] {
      let handle = try #require(FileHandle(forWritingAtPath: spool))
      try handle.seekToEnd()
      handle.write(Data(torn.utf8))
      try handle.close()
      let password = try shop.folder.write("password", "correct horse")
      #expect(try shop.run("account", "add", "a\(torn.count)", "--password-file", password).status == 0)
      let text = try String(decoding: shop.folder.bytes("ledger.sqlite.spool"), as: UTF8.self)
      #expect(text.utf8.starts(with: whole) && !text.contains(torn) && text.contains("a\(torn.count)"))
      #expect(try shop.run("merge", spool).status == 0)
    }
  }

  /// Accounts that were opened after a backup come back with their logins, and erased ones stay erased.
  @Test func accountsAndErasuresComeBack() throws {
    let (shop, _) = try soldShop(buyers: 1)
    let password = try shop.folder.write("password", "correct horse")
    #expect(try shop.run("account", "add", "ada@example.org", "--password-file", password).status == 0)
    let backup = shop.folder.file("with-ada.sqlite")
    #expect(try shop.run("backup", backup, "--rotate-spool").status == 0)
    #expect(try String(decoding: shop.folder.bytes("with-ada.sqlite.spool"), as: UTF8.self).contains("ada@"))
    #expect(try shop.folder.bytes("ledger.sqlite.spool").isEmpty)
    #expect(try shop.run("account", "add", "grace@example.org", "--password-file", password).status == 0)
    #expect(try shop.run("account", "erase", "ada@example.org").status == 0)
    try restore(backup, shop)
    #expect(try shop.run("account", "list").stdout.contains("ada@example.org"))
    let spool = shop.ledgerPath + ".spool"
    // A file of evidence that somebody sent must not erase an account.
    let imported = try shop.run("import", spool)
    #expect(imported.status == 1 && imported.stdout.contains("merge-only"), "\(imported)")
    #expect(try shop.run("account", "list").stdout.contains("ada@example.org"))
    #expect(try shop.run("merge", spool).status == 0)
    let list = try shop.run("account", "list").stdout
    #expect(list.contains("grace@example.org") && list.contains("(erased)") && !list.contains("ada@"), "\(list)")
    #expect(try shop.run("verify").status == 0)
  }

  @Test func erasedLoginIsNowhereInTheSpool() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    let password = try shop.folder.write("password", "correct horse")
    for login in ["ada@example.org", "grace@example.org"] {
      #expect(try shop.run("account", "add", login, "--password-file", password).status == 0)
    }
    func spool() throws -> String { try String(decoding: shop.folder.bytes("ledger.sqlite.spool"), as: UTF8.self) }
    #expect(try spool().contains("ada@example.org"))
    #expect(try shop.run("account", "erase", "ada@example.org").status == 0)
    #expect(try !spool().contains("ada@example.org") && spool().contains("grace@example.org"))
    #expect(!shop.folder.names.contains { $0.hasSuffix(".partial") })
  }

  /// `export --evidence` into a new ledger, and `merge` of the ledger itself, give the same owners.
  @Test func exportedEvidenceGivesTheSameOwners() throws {
    let (shop, _) = try soldShop()
    let expected = try grants(shop.ledgerPath, shop)
    let lines = shop.folder.file("all.jsonl")
    let exported = try shop.run("export", "--evidence", "--output", lines)
    #expect(exported.status == 0 && exported.stdout.contains("the evidence of"), "\(exported)")
    #expect(try FileManager.default.attributesOfItem(atPath: lines)[.posixPermissions] as? Int == 0o600)
    for (name, command) in [("imported", ["import", lines]), ("merged", ["merge", shop.ledgerPath])] {
      let path = shop.folder.file("\(name).sqlite")
      #expect(try shop.run("init", "--ledger", path).status == 0)
      let run = try Command(built: "purchase-ledger").run(
        command + ["--ledger", path, "--config", shop.folder.file("config.json")])
      #expect(run.status == 0, "\(name): \(run)")
      #expect(try grants(path, shop) == expected, "\(name)")
    }
    #expect(try shop.run("merge", shop.ledgerPath).status == 2)
  }

  /// Two ledgers whose accounts have the same login or token: the ledger keeps its own, and says so.
  @Test func mergeSaysConflicts() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    let password = try shop.folder.write("password", "correct horse")
    let other = shop.folder.file("other.sqlite")
    #expect(try shop.run("init", "--ledger", other).status == 0)
    let token = "1f6f3f0e-0d3a-4a7e-9a52-3f8f1d7c2b11"
    for path in [shop.ledgerPath, other] {
      #expect(try shop.run("account", "add", "ada", "--password-file", password, "--ledger", path).status == 0)
      #expect(
        try shop.run(
          "account", "add", path == other ? "b" : "c", "--token", token, "--password-file", password,
          "--ledger", path
        ).status == 0)
    }
    let run = try shop.run("merge", other)
    #expect(run.status == 1 && run.stdout.contains("login-taken"), "\(run)")
    #expect(run.stdout.contains("token-of-another-account"), "\(run)")
    #expect(try shop.run("account", "list").stdout.matches(of: /ada/).count == 1)
  }

  /// Under `second-claim` = `transfer` an old spool does not take back what was transferred since; after a restore the
  /// transfer is repeated.
  @Test func mergeTakesNothingBack() throws {
    let authority = try EphemeralCA()
    let folder = try TemporaryFolder()
    let end = ShopGenerator.end
    try folder.write("root.der", bytes: authority.rootCertificate)
    let config = try folder.write(
      "config.json",
      """
      {"ledger": "ledger.sqlite", "rootCertificates": ["root.der"], "bundleId": "\(ShopGenerator.bundleID)",
       "policy": {"second-claim": "transfer"}}
      """)
    let fact = StoreTransaction(
      store: .apple, environment: .production, transactionID: "1", originalTransactionID: "1",
      productID: "region.alps", productType: .nonConsumable, purchaseDate: end - 86_400_000, ownership: .purchased,
      signedDate: end - 86_400_000, trust: .signed, statement: .purchased)
    let evidence = try folder.write(
      "one.jws", bytes: authority.transaction(fact, bundleID: ShopGenerator.bundleID))
    func run(_ words: String..., day: Int64) throws -> CommandRun {
      try Command(built: "purchase-ledger").run(words + ["--now", "\(end + day * 86_400_000)", "--config", config])
    }
    func owners() throws -> [Bool] {
      try ["ada", "grace"].map { try run("entitlements", $0, "--json", day: 9).stdout.contains("region.alps") }
    }
    #expect(try run("init", day: 0).status == 0)
    let password = try folder.write("password", "correct horse")
    for login in ["ada", "grace"] {
      #expect(try run("account", "add", login, "--password-file", password, day: 0).status == 0)
    }
    #expect(try run("import", evidence, "--account", "ada", day: 1).status == 0)
    let (path, backup) = (folder.file("ledger.sqlite"), folder.file("backup.sqlite"))
    #expect(try run("backup", backup, "--rotate-spool", day: 2).status == 0)
    #expect(try run("import", evidence, "--account", "grace", day: 3).status == 0)
    #expect(try owners() == [false, true])
    let old = try run("merge", backup + ".spool", day: 4)
    #expect(old.status == 1 && old.stdout.contains("claimed-by-another-account"), "\(old)")
    #expect(try owners() == [false, true])
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    try FileManager.default.copyItem(atPath: backup, toPath: path)
    #expect(try owners() == [true, false])
    for day: Int64 in [5, 6] {
      let again = try run("merge", path + ".spool", day: day)
      // The line of the old spool, merged above, is refused here too.
      #expect(again.status == 1 && again.stdout.contains("claimed-by-another-account"), "\(again)")
      #expect(try owners() == [false, true])
    }
  }

  /// A line whose evidence was changed on the disk is refused by name.
  @Test func damagedLineIsRefused() throws {
    let (shop, backup) = try soldShop(buyers: 1)
    let text = try String(decoding: shop.folder.bytes("ledger.sqlite.spool"), as: UTF8.self)
    let damaged = text.replacing(/"sha256":"[0-9a-f]/, maxReplacements: 1) { _ in "\"sha256\":\"g" }
    let file = try shop.folder.write("damaged.spool", damaged)
    try restore(backup, shop)
    let run = try shop.run("merge", file)
    #expect(run.status == 1 && run.stdout.contains("another SHA-256 than its line says"), "\(run)")
  }
}
