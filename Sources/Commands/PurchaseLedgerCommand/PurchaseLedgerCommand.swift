import ArgumentParser

@main
struct PurchaseLedgerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "purchase-ledger",
    abstract: "Verifies what app stores say, remembers who owns what, and reconciles the two.")
}
