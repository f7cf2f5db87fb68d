import ArgumentParser
import CommandSupport
import PurchaseLedger
import Support

/// `purchase-ledger init`
struct InitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init", abstract: "Creates a ledger.",
    discussion: """
      Policies come from the configuration file or from --policy: \
      \(LedgerPolicy().settings.map(\.name).joined(separator: ", ")); docs/reference/ledger.md has their values.
      """)

  @OptionGroup var wanted: PolicyOptions
  @OptionGroup var environment: EnvironmentOption
  @OptionGroup var options: CommonOptions

  func run() async throws {
    let settings = try LedgerSettings(options, environment.values)
    var policy = LedgerPolicy()
    for (name, value) in settings.policies { try policy.set(name, to: value) }
    if let environment = settings.environment { policy.environment = environment }
    try wanted.set(&policy, settings)
    try Ledger.create(at: settings.ledgerPath, policy: policy, clock: settings.clock).close()
    if options.json {
      let policies = policy.settings.map { JSONValue.Member($0.name, .string($0.value)) }
      printLine(JSONValue.fields([("ledger", .string(settings.ledgerPath)), ("policy", .object(policies))]).text)
    } else {
      printLine("\(settings.ledgerPath): a new ledger; \(policy.environment.rawValue.lowercased()) grants")
    }
  }
}
