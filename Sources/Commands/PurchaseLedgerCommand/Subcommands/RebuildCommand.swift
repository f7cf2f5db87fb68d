import ArgumentParser
import CommandSupport
import PurchaseLedger
import Support

/// `purchase-ledger rebuild`
struct RebuildCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rebuild", abstract: "Makes the projections anew from the events.")

  @OptionGroup var progress: ProgressOption
  @OptionGroup var options: CommonOptions

  func run() async throws {
    let ledger = try LedgerSettings(options).openLedger()
    defer { ledger.close() }
    let printer = progress.printer("events")
    var count = 0
    try ledger.rebuild { done, total in
      count = total
      printer.show(done, of: total)
    }
    printer.finish()
    printLine(options.json ? JSONValue.fields([("events", .init(count))]).text : "rebuilt from \(count) events")
  }
}
