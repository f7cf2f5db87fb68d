import ArgumentParser
import CommandSupport
import PurchaseLedger
import Support

/// `purchase-ledger queue`
struct QueueCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "queue", abstract: "Lists what waits for the stores, and what of it failed.",
    discussion: """
      Purchases that wait for acknowledgement, with Google's deadline; questions that wait for the next pull; \
      purchases that count although the store has not confirmed them; questions that failed, with their attempts and \
      the next one. With --json, one object for each. Exits with 1 when something failed, or has to be acknowledged \
      within a day.
      """)

  @Flag(help: "Make all questions that failed due again: the next pull asks them.")
  var retry = false
  @Option(
    parsing: .singleValue,
    help: ArgumentHelp(
      "Drop the questions about this transaction; the purchase itself stays as it is. Repeatable.", valueName: "id"))
  var drop: [String] = []
  @OptionGroup var options: CommonOptions

  func run() async throws {
    let settings = try LedgerSettings(options)
    let changes = retry || !drop.isEmpty
    let ledger = changes ? try settings.openLedger() : try settings.openLedgerToRead()
    defer { ledger.close() }
    for id in drop { try ledger.dropQuestion(id) }
    if retry { _ = try ledger.retryFailures() }
    let queue = try ledger.queue()
    if options.json {
      for item in queue.json { printLine(item.text) }
    } else {
      printText(queue.text)
    }
    if queue.needsPerson { throw ExitCode(.found) }
  }
}
