import ArgumentParser
import CommandSupport
import PurchaseLedger
import Support

/// `purchase-ledger status`
struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Reports the state of the ledger and its jobs, for people and monitoring.",
    discussion: """
      Reports pulls, gaps, clocks, acknowledgements, queue, quarantine, the last reconcile and backup, head and disk. \
      Records nothing, and waits for no other process. Exits with 1 when something needs a person; the output and the \
      member conditions of --json name it by a stable word. docs/reference/ledger.md lists these words.
      """)

  @Option(
    help: ArgumentHelp(
      "How old the last pull, reconcile and backup may be, in hours or days: 36h, 7d. (default: 2d)", valueName: "age"))
  var maxAge: MaxAge?
  @OptionGroup var options: CommonOptions

  func run() async throws {
    let settings = try LedgerSettings(options)
    let limits = StatusLimits(ageMax: maxAge?.milliseconds ?? Reconciler.ageMaxDefault)
    let status = try LedgerStatus.read(
      settings.ledgerPath, clock: settings.clock, expecting: settings.storeAccess().stores, limits: limits)
    printText(options.json ? status.json.text : status.text)
    if !status.conditions.isEmpty { throw ExitCode(.found) }
  }
}
