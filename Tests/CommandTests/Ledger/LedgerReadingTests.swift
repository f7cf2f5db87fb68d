import CSQLite
import Foundation
import PurchaseLedger
import StoreSimulators
import TestSupport
import Testing

/// Commands that only read a ledger do not write to it, and do not wait for writers.
@Suite(.ownThread) struct LedgerReadingTests {
  private func readers(_ shop: LedgerShop) -> [[String]] {
    [
      ["entitlements", "\(shop.shop.accounts[0].id)"], ["history", "nothing"], ["export"], ["verify"],
      ["export", "--format", "hledger"], ["reconcile", "--against", shop.folder.file("store.jsonl")],
      ["dismiss", "--list"], ["account", "list"],
    ]
  }

  /// `history` ends with 2 where it finds nothing, `reconcile` with 0 or 1.
  private func expectRead(_ shop: LedgerShop) throws {
    for arguments in readers(shop) {
      let run = try Command(built: "purchase-ledger").run(arguments + ["--config", shop.folder.file("config.json")])
      let expected: [Int32] = ["reconcile": [0, 1], "history": [2]][arguments[0]] ?? [0]
      #expect(run.status.map(expected.contains) == true, "\(arguments): \(run)")
    }
  }

  private func filled() throws -> LedgerShop {
    let shop = try LedgerShop(buyers: 2)
    try shop.makeLedger()
    #expect([0, 1].contains(try shop.run("import", shop.folder.file("evidence.jsonl")).status))
    return shop
  }

  /// A command that waited for the lock would give up after 30 seconds and exit with 3.
  @Test func readingCommandsDoNotWaitForAWriter() throws {
    let shop = try filled()
    var writer: OpaquePointer?
    defer { sqlite3_close(writer) }
    #expect(sqlite3_open(shop.ledgerPath, &writer) == SQLITE_OK)
    // The log is empty, as after every command that wrote.
    #expect(sqlite3_exec(writer, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK)
    try expectRead(shop)
    #expect(sqlite3_exec(writer, "UPDATE policy SET seq = seq", nil, nil, nil) == SQLITE_OK)
    try expectRead(shop)
  }

  @Test func readingCommandsDoNotChangeTheFile() throws {
    let shop = try filled()
    let before = try shop.folder.bytes("ledger.sqlite")
    // A writer merges the log into the file when it ends.
    #expect(!shop.folder.names.contains("ledger.sqlite-wal"))
    try expectRead(shop)
    #expect(try shop.folder.bytes("ledger.sqlite") == before)
    // An empty log changes nothing.
    #expect((try? shop.folder.bytes("ledger.sqlite-wal"))?.isEmpty ?? true)
  }

  /// On read-only media. Root can write there all the same.
  @Test func readOnlyLedgerCanBeRead() throws {
    let shop = try filled()
    let files = FileManager.default
    try files.setAttributes([.posixPermissions: 0o444], ofItemAtPath: shop.ledgerPath)
    try files.setAttributes([.posixPermissions: 0o555], ofItemAtPath: shop.folder.path)
    try expectRead(shop)
  }

  /// Other policies in the configuration take nothing away until `policy --apply`; every other command says so.
  @Test func policiesOfTheConfigurationComeIntoForceByTheirOwnCommand() throws {
    let shop = try filled()
    let text = try String(decoding: shop.folder.bytes("config.json"), as: UTF8.self)
      .replacing("{\"ledger\"", with: "{\"policy\": {\"family-sharing\": \"withhold\"}, \"ledger\"")
    try shop.folder.write("config.json", text)
    for run in [try shop.run("export"), try shop.run("backup", shop.folder.file("copy.sqlite"))] {
      #expect(
        run.status == 0 && run.stderr.contains("family-sharing is grant, and withhold in the configuration"), "\(run)")
      #expect(!run.stdout.contains("withhold"))
    }
    let trial = try shop.run("policy")
    #expect(trial.status == 1 && trial.stdout.contains("family-sharing: withhold would replace grant"), "\(trial)")
    #expect(try shop.run("policy", "--json").stdout.contains("\"applied\":false"))
    let applied = try shop.run("policy", "--apply")
    #expect(applied.status == 0 && applied.stdout.contains("withhold replaces grant"), "\(applied)")
    #expect(try shop.run("policy").stdout.contains("family-sharing=withhold"))
    let after = try shop.run("export")
    #expect(after.stdout.contains("withhold") && after.stderr.isEmpty, "\(after)")
  }
}
