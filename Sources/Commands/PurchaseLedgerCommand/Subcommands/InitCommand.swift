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

  @Option(
    parsing: .singleValue,
    help: ArgumentHelp("A policy, such as second-claim=transfer; repeatable.", valueName: "name=value"),
    transform: Self.setting)
  var policy: [Setting] = []
  @OptionGroup var environment: EnvironmentOption
  @OptionGroup var options: CommonOptions

  struct Setting {
    let name: String
    let value: String
  }

  private static func setting(_ text: String) throws -> Setting {
    let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { throw ValidationError("must be name=value, as in second-claim=transfer") }
    return Setting(name: parts[0], value: parts[1])
  }

  func run() async throws {
    let settings = try LedgerSettings(options, environment.values)
    var policy = LedgerPolicy()
    for (name, value) in settings.policies { try policy.set(name, to: value) }
    if let environment = settings.environment { policy.environment = environment }
    var names: Set<String> = []
    for setting in self.policy {
      guard names.insert(setting.name).inserted else {
        throw LedgerError(.configuration, at: "policy \(setting.name)", "--policy names it twice; leave one of them")
      }
      if setting.name == "environment" { try LedgerSettings.check(settings.namedEnvironment, against: setting.value) }
      try policy.set(setting.name, to: setting.value)
    }
    try Ledger.create(at: settings.ledgerPath, policy: policy, clock: settings.clock).close()
    if options.json {
      let policies = policy.settings.map { JSONValue.Member($0.name, .string($0.value)) }
      printLine(JSONValue.fields([("ledger", .string(settings.ledgerPath)), ("policy", .object(policies))]).text)
    } else {
      printLine("\(settings.ledgerPath): a new ledger; \(policy.environment.rawValue.lowercased()) grants")
    }
  }
}
