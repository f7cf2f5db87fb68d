import ArgumentParser
import CommandSupport
import PurchaseLedger

/// `purchase-ledger history`
struct HistoryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "Lists every event about a transaction, in the order in which we learnt it.")

  @Argument(help: "A transaction's id, or an original transaction's.")
  var transaction: String
  @OptionGroup var options: CommonOptions

  func run() async throws {
    let ledger = try LedgerSettings(options).openLedgerToRead()
    let events = try ledger.history(of: transaction)
    guard !events.isEmpty else {
      throw LedgerError(.input, at: transaction, "no event is about it; check the id, or import its evidence")
    }
    for event in events { printLine(options.json ? event.jsonLine : EventText.line(event)) }
  }
}
