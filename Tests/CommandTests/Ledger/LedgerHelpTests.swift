import Foundation
import TestSupport
import Testing

/// The help texts of `purchase-ledger`; `make bless` rewrites the golden files.
@Suite(.ownThread) struct LedgerHelpTests {
  @Test(arguments: [
    ["--help"], ["help", "inspect"], ["help", "init"], ["help", "account"], ["help", "account", "add"],
    ["help", "account", "list"], ["help", "account", "erase"], ["help", "import"], ["help", "pull"],
    ["help", "reconcile"], ["help", "entitlements"], ["help", "history"], ["help", "verify"], ["help", "export"],
    ["help", "backup"], ["help", "rebuild"], ["help", "demo"], ["help", "dismiss"], ["help", "policy"],
  ])
  func helpMatchesTheGoldenFile(_ arguments: [String]) throws {
    let run = try Command(built: "purchase-ledger").run(arguments)
    #expect(run.status == 0 && run.stderr.isEmpty, "\(run)")
    let names = arguments.count == 1 ? ["help"] : Array(arguments.dropFirst())
    let name = "purchase-ledger-\(names.joined(separator: "-")).txt"
    let golden = ProjectFiles.path("Tests/CommandTests/Goldens/\(name)")
    if ProcessInfo.processInfo.environment["BLESS"] == "1" {
      try run.stdout.write(toFile: golden, atomically: true, encoding: .utf8)
    }
    let expected = try String(contentsOfFile: golden, encoding: .utf8)
    #expect(run.stdout == expected, "\(name) has changed; if that is wanted: make bless")
    if arguments.count > 1 {
      let own = try Command(built: "purchase-ledger").run(names + ["--help"])
      #expect(own.stdout == run.stdout, "\(names) --help is another text")
    }
  }

  @Test func readmeAndHelpListTheSameExitCodes() throws {
    let help = try purchaseLedger("--help").stdout.split(whereSeparator: \.isNewline).joined(separator: " ")
    let statuses = exitCodesInDocuments(of: "purchase-ledger")
    for status in statuses { #expect(help.contains(" \(status)"), "\(status)") }
    #expect(statuses == [0, 1, 2, 3, 4, 64, 70, 129, 130, 143])
  }
}
