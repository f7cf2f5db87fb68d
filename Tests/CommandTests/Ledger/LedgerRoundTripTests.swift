import Foundation
import StoreSimulators
import TestSupport
import Testing

@testable import PurchaseLedger

/// `purchase-ledger` from an empty folder to a reconciled ledger.
@Suite(.ownThread) struct LedgerRoundTripTests {
  private func lines(_ run: CommandRun) throws -> [[String: Any]] {
    try run.stdoutLines.map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any], "\($0)")
    }
  }

  /// Records that are older than `--max-age`, two days unless told otherwise, are no agreement.
  @Test(
    arguments: [
      ("47h", [], 0), ("49h", [], 1), ("49h", ["--max-age", "3d"], 0), ("47h", ["--max-age", "46h"], 1),
      ("49h", ["--max-age", "49h"], 0), ("1h", ["--max-age", "0h"], 64), ("1h", ["--max-age", "2w"], 64),
    ] as [(String, [String], Int32)])
  func oldRecordsAreNoAgreement(age: String, options: [String], status: Int32) throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    // A pull that found nothing, so that nothing but its age speaks against agreement.
    let hours = try #require(Int64(age.dropLast()))
    let end = ShopGenerator.end - hours * 3_600_000
    let ledger = try Ledger.open(at: shop.ledgerPath, policy: nil, clock: .fixed(end))
    let window = NotificationWindow(start: end - 86_400_000, end: end, page: nil)
    try Snapshot(of: ledger).store(
      SnapshotPage(evidence: [], cursor: ("apple.notifications.Production", window.text)))
    try Snapshot(of: ledger).cover(.apple, .production)
    ledger.close()
    let run = try Command(built: "purchase-ledger").run(
      ["reconcile", "--config", shop.folder.file("config.json")] + options)
    #expect(run.status == status, "\(run)")
    guard status < 64 else { return #expect(run.stderr.contains("--max-age"), "\(run)") }
    #expect(run.stdout.contains("Store and ledger agree") == (status == 0), "\(run)")
    #expect(run.stdout.contains(hours == 1 ? "1 hour ago" : " ago"), "\(run)")
  }

  @Test func initImportReconcileAndExportWorkTogether() throws {
    let shop = try LedgerShop()
    try shop.makeLedger()
    let imported = try shop.run("import", shop.folder.file("evidence.jsonl"), "--report", "json")
    let pieces = try lines(imported)
    #expect(pieces.count == shop.shop.evidence.count, "\(imported)")
    #expect(pieces.map { $0["line"] as? Int } == Array(1...pieces.count))
    let outcomes = Set(pieces.compactMap { $0["outcome"] as? String })
    #expect(
      outcomes.isSubset(of: ["accepted", "duplicate", "quarantined", "refused"]) && outcomes.contains("accepted"))
    #expect(imported.status == (outcomes.isDisjoint(with: ["refused", "quarantined"]) ? 0 : 1))
    let bought = try #require(pieces.first { $0["kind"] as? String == "transaction" })
    for name in ["source", "store", "environment", "transactionId", "originalTransactionId", "productId"] {
      #expect(bought[name] is String, "\(name) is missing")
    }

    let again = try lines(try shop.run("import", shop.folder.file("evidence.jsonl"), "--json"))
    #expect(!again.contains { $0["outcome"] as? String == "accepted" })

    let dry = try shop.run("reconcile", "--against", shop.folder.file("store.jsonl"), "--report", "json")
    #expect(dry.status == 1, "\(dry)")
    let before = try #require(try JSONSerialization.jsonObject(with: Data(dry.stdout.utf8)) as? [String: Any])
    #expect((before["differences"] as? [Any])?.isEmpty == false)
    let store = shop.folder.file("store.jsonl")
    let unchanged = try shop.run("reconcile", "--against", store, "--report", "json")
    #expect(unchanged.stdout == dry.stdout, "a dry run must not change anything")
    let pulled = try shop.run("reconcile", "--json")
    #expect(pulled.status == 2 && pulled.stdout.contains("\"agreed\":false"), "an export is nothing that was pulled")
    _ = try shop.run("reconcile", "--apply", "--against", store)
    let after = try shop.run("reconcile", "--against", store, "--report", "csv")
    #expect(!after.stdout.contains("\nstore-only,") && !after.stdout.contains("\nstate-differs,"), "\(after)")

    // An unreadable line is a difference.
    let torn = try shop.folder.write(
      "torn.jsonl", bytes: Array(shop.shop.storeLists.joined(separator: [0x0a])) + Array("\n{\"to".utf8))
    let partly = try shop.run("reconcile", "--against", torn)
    #expect(
      partly.status == 1 && partly.stdout.contains("1 piece of the store's export could not be read"), "\(partly)")
    #expect(!partly.stdout.contains("Store and ledger agree"))
    #expect(partly.stdout.contains("which does not say when it was made") && !partly.stdout.contains(" ago"))
    #expect(!dry.stdout.contains("ageSeconds"))

    let owned = try shop.shop.accounts.flatMap {
      try lines(try shop.run("entitlements", "\($0.id)", "--json"))
    }
    let grants = owned.compactMap { $0["originalTransactionId"] as? String }
    #expect(!grants.isEmpty && Set(grants).count == grants.count, "a grant has one owner")
    let id = try #require(bought["transactionId"] as? String)
    #expect(try shop.run("history", id).stdout.contains("transaction \(id)"))

    let verified = try shop.run("verify", "--signatures", "--json")
    #expect(verified.status == 0 && !verified.stdout.contains(#""unsignedFacts":0,"#), "\(verified)")
    let export = try shop.run("export")
    let last = try #require(try lines(export).last)
    let head = try #require(last["head"] as? String)
    #expect(try shop.run("verify", "--head", head).status == 0)
    #expect(try shop.run("verify", "--head", String(repeating: "0", count: 64)).status == 1)
    let journal = try shop.run("export", "--format", "hledger").stdout
    #expect(journal.contains("assets:receivable:apple") && journal.contains("income:sales:google"))
    #expect(try shop.run("rebuild").status == 0)
    #expect(try shop.run("export", "--format", "hledger").stdout == journal)

    // Into a file: it is replaced as a whole, and no other file is left.
    let file = try shop.folder.write("journal", "what was there")
    let refusal = try shop.run("export", "--format", "hledger", "--output", file)
    #expect(refusal.status == 2 && refusal.stderr.contains("replace it with --force"), "\(refusal)")
    #expect(try String(decoding: shop.folder.bytes("journal"), as: UTF8.self) == "what was there")
    let written = try shop.run("export", "--format", "hledger", "--output", file, "--force", "--progress", "json")
    #expect(written.status == 0 && written.stdout.hasPrefix("\(file): the postings of "), "\(written)")
    #expect(written.stderr.contains(#""unit":"postings""#), "\(written)")
    #expect(try String(decoding: shop.folder.bytes("journal"), as: UTF8.self) == journal)
    for path in [shop.folder.file("missing/journal"), "/dev/full"] {
      let refused = try shop.run("export", "--output", path)
      #expect(refused.status == 2 && refused.stderr.contains("\(path): cannot be written"), "\(refused)")
    }
    #expect(!shop.folder.names.contains { $0.hasSuffix(".partial") })
    // The bar is gone before the message.
    let full = try shop.run("export", "--output", "/dev/full", "--progress", "bar")
    #expect(full.stderr.contains("]") && full.stderr.contains("\r\u{1b}[Kpurchase-ledger: /dev/full"), "\(full)")
  }

  @Test func exportedFileIsReadableByItsOwnerOnly() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    let file = shop.folder.file("events.jsonl")
    #expect(try shop.run("export", "--output", file).status == 0)
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  private static let hasHledger = (try? run("hledger", ["--version"])) != nil

  @Test(.enabled(if: hasHledger, "hledger is not installed")) func hledgerAcceptsTheExportedJournal() throws {
    let shop = try LedgerShop(buyers: 40)
    try shop.makeLedger()
    _ = try shop.run("import", shop.folder.file("evidence.jsonl"))
    let journal = shop.folder.file("shop.journal")
    #expect(try shop.run("export", "--format", "hledger", "--output", journal).status == 0)
    let checked = try #require(try run("hledger", ["-f", journal, "check", "--strict"]))
    #expect(checked.status == 0, "\(checked.output)")
    let balance = try #require(try run("hledger", ["-f", journal, "balance"]))
    #expect(balance.status == 0 && balance.output.contains("income:sales"), "\(balance.output)")
  }

  @Test func exportAndBackupMakeNoFileCalledAsStandardOutput() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    let words = ["--config", shop.folder.file("config.json")]
    let export = try purchaseLedger("export", "-o", "-", words[0], words[1], in: shop.folder.path)
    let expected = try shop.run("export").stdout
    #expect(export.status == 0 && export.stdout == expected && !expected.isEmpty, "\(export)")
    let backup = try purchaseLedger("backup", "-", words[0], words[1], in: shop.folder.path)
    #expect(backup.status == 64 && backup.stderr.contains("standard output; name a file"), "\(backup)")
    #expect(!shop.folder.names.contains("-"))
  }

  @Test func exportRefusesToReplaceTheLedger() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    let folder = shop.folder.path
    try FileManager.default.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: "ledger.sqlite")
    try FileManager.default.createSymbolicLink(atPath: "\(folder)/log", withDestinationPath: "ledger.sqlite-wal")
    try FileManager.default.createSymbolicLink(atPath: "\(folder)/there", withDestinationPath: folder)
    try FileManager.default.linkItem(atPath: shop.ledgerPath, toPath: "\(folder)/second")
    for name in [
      "ledger.sqlite", "./ledger.sqlite", "link", "second", "there/ledger.sqlite", "ledger.sqlite-wal", "log",
      "there/ledger.sqlite-shm",
    ] {
      let run = try shop.run("export", "--output", shop.folder.file(name))
      #expect(run.status == 2 && run.stderr.contains("is the ledger itself"), "\(name): \(run)")
    }
    #expect(try shop.run("verify").status == 0)
    #expect(try shop.run("export", "--output", shop.folder.file("events.jsonl")).status == 0)
  }

  @Test func accountsAreAddedListedAndErased() throws {
    let shop = try LedgerShop(buyers: 1)
    #expect(try shop.run("init").status == 0)
    let password = try shop.folder.write("password", "correct horse\n")
    let added = try shop.run("account", "add", "anna@example.org", "--password-file", password, "--json")
    #expect(added.status == 0, "\(added)")
    let id = try #require(try lines(added).first?["account"] as? String)
    #expect(try shop.run("account", "list").stdout.contains("\(id)  anna@example.org"))
    let twice = try shop.run("account", "add", "anna@example.org", "--password-file", password)
    #expect(twice.status == 2 && twice.stderr.contains("anna@example.org"), "\(twice)")
    #expect(try shop.run("entitlements", "anna@example.org").status == 0)
    #expect(try shop.run("account", "erase", "anna@example.org").status == 0)
    #expect(try !shop.run("account", "list").stdout.contains("anna"))
    #expect(try shop.run("entitlements", "anna@example.org").status == 2)
    let file = try shop.folder.bytes("ledger.sqlite")
    #expect(file.range(of: Data("anna@".utf8)) == nil, "the login is still in the file")
  }

  @Test func demoEndsWithACleanLedger() throws {
    let folder = try TemporaryFolder()
    let run = try purchaseLedger("demo", "--buyers", "20", "--output", folder.file("shop"))
    #expect(run.status == 0, "\(run)")
    for text in ["== import: ", "These are in", ": clean", "head "] { #expect(run.stdout.contains(text), "\(run)") }
    let config = folder.file("shop/config.json")
    let verified = try purchaseLedger("verify", "--signatures", "--config", config)
    #expect(verified.status == 0 && verified.stdout.contains("the operator vouches for them"), "\(verified)")
    #expect(try purchaseLedger("demo", "--output", folder.file("shop")).status == 2)
    // Control characters in names do not reach the terminal.
    let kept = folder.file("kept\u{7}.sqlite")
    let printed = folder.file(#"kept\u0007.sqlite"#)
    let keeping = try purchaseLedger("demo", "--buyers", "3", "--ledger", kept, "--now", "2027-03-01")
    #expect(keeping.status == 0 && keeping.stdout.contains("--ledger \(printed)"), "\(keeping)")
    #expect(try purchaseLedger("verify", "--ledger", kept).status == 0)
    #expect(try purchaseLedger("export", "--ledger", kept).stdout.contains("1803859200000"))
    let twice = try purchaseLedger("demo", "--buyers", "3", "--ledger", kept)
    #expect(twice.status == 2 && twice.stderr.contains(printed), "\(twice)")
    // A configuration changes the demonstration's policies, but not where its ledger is written.
    let shop = try folder.write("c.json", "{\"ledger\": \"shop.sqlite\", \"policy\": {\"second-claim\": \"transfer\"}}")
    #expect(try purchaseLedger("demo", "--buyers", "3", "--config", shop, "--output", folder.file("b")).status == 0)
    #expect(try purchaseLedger("export", "--config", folder.file("b/config.json")).stdout.contains("transfer"))
    #expect(!folder.names.contains("shop.sqlite"))
    let told = try purchaseLedger("demo", "--buyers", "5", "--json", "--progress", "json")
    #expect(told.stderr.contains(#""unit":"pieces""#) && told.stderr.contains(#""unit":"rows""#), "\(told)")
    let object = try #require(try JSONSerialization.jsonObject(with: Data(told.stdout.utf8)) as? [String: Any])
    #expect((object["verify"] as? [String: Any])?["clean"] as? Bool == true, "\(told)")
    #expect((object["imported"] as? [String: Any])?["accepted"] as? Int ?? 0 > 0)
  }

  /// Google's purchases state no price: the accountant is told, in words, in JSON and in the journal.
  @Test func salesWithoutAPriceAreCounted() throws {
    let shop = try LedgerShop()
    try shop.makeLedger()
    _ = try shop.run("import", shop.folder.file("evidence.jsonl"))
    let file = shop.folder.file("sales.journal")
    let export = try shop.run("export", "--format", "hledger", "--output", file, "--json")
    let counts = try #require(try lines(export).first)
    let (sales, refunds) = (counts["unpriced"] as? Int ?? 0, counts["unpricedRefunds"] as? Int ?? -1)
    #expect(sales > 0, "\(export)")
    #expect(export.stderr.contains("unpriced: \(sales) sale"), "\(export)")
    let journal = try String(contentsOfFile: file, encoding: .utf8)
    #expect(journal.hasSuffix("\n; unpriced: \(sales) sales, \(refunds) refunds\n"))
    #expect(try shop.run("verify", "--json").stdout.contains(#""unpriced":\#(sales)"#))
  }

  /// Somebody with the file appends a transfer of a purchase, whose hashes fit.
  @Test func aForgedTransferIsFound() throws {
    let shop = try LedgerShop()
    try shop.makeLedger()
    let imported = try lines(try shop.run("import", shop.folder.file("evidence.jsonl"), "--json"))
    let bought = try #require(
      imported.first { $0["outcome"] as? String == "accepted" && $0["store"] as? String == "apple" })
    let id = try #require(bought["originalTransactionId"] as? String)
    let head = try #require(try lines(try shop.run("export")).last?["head"] as? String)
    let environment = StoreEnvironment(rawValue: try #require(bought["environment"] as? String))
    do {
      let ledger = try Ledger.open(at: shop.ledgerPath, policy: nil, clock: .fixed(ShopGenerator.end))
      let key = TransactionKey(store: .apple, environment: environment, id: id)
      let account = shop.shop.accounts[0].id
      _ = try ledger.write { try $0.append(.claim(key, account: account, isTransfer: true, after: 0), evidence: nil) }
    }
    let verified = try shop.run("verify", "--signatures", "--head", head)
    #expect(verified.status == 1 && verified.stdout.contains("after the head"), "\(verified)")
  }
}
