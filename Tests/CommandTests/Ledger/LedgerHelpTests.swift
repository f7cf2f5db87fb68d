import TestSupport
import Testing

/// What `purchase-ledger` says of itself.
@Suite struct LedgerHelpTests {
  @Test func readmeListsTheStatusesOfTheHelp() throws {
    let help = try purchaseLedger("--help").stdout.split(whereSeparator: \.isNewline).joined(separator: " ")
    let statuses = statusesInReadme(of: "purchase-ledger")
    for status in statuses { #expect(help.contains(" \(status)"), "\(status)") }
    #expect(statuses == [0, 1, 2, 3, 4, 64, 70, 129, 130, 143])
  }

  @Test(arguments: [
    "inspect", "init", "account", "import", "pull", "reconcile", "entitlements", "history", "verify", "export",
    "rebuild", "demo",
  ])
  func everySubcommandHasHelp(_ name: String) throws {
    let run = try purchaseLedger(name, "--help")
    #expect(run.status == 0 && run.stdout.contains("USAGE: purchase-ledger \(name)"), "\(run)")
    if !["account", "demo"].contains(name) { #expect(run.stdout.contains("--ledger <file>"), "\(run)") }
  }
}
