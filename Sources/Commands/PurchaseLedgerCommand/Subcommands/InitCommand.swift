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
    help: ArgumentHelp("A policy, such as second-claim=transfer; repeatable.", valueName: "name=value"))
  var policy: [String] = []
  @OptionGroup var environment: EnvironmentOption
  @OptionGroup var options: CommonOptions

  func validate() throws {
    guard policy.allSatisfy({ Self.parts(of: $0).count == 2 }) else {
      throw ValidationError("--policy must be name=value, as in second-claim=transfer")
    }
  }

  /// Name and value.
  private static func parts(of setting: String) -> [String] {
    setting.split(separator: "=", maxSplits: 1).map(String.init)
  }

  func run() async throws {
    let settings = try LedgerSettings(options, environment.values)
    var policy = LedgerPolicy()
    for (name, value) in settings.policies { try policy.set(name, to: value) }
    if let environment = settings.environment { policy.environment = environment }
    var names: Set<String> = []
    for setting in self.policy {
      let parts = Self.parts(of: setting)
      guard names.insert(parts[0]).inserted else {
        throw LedgerError(.configuration, at: "policy \(parts[0])", "--policy names it twice; leave one of them")
      }
      if parts[0] == "environment" { try LedgerSettings.check(settings.namedEnvironment, against: parts[1]) }
      try policy.set(parts[0], to: parts[1])
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
