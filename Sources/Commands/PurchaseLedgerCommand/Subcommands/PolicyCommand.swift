import ArgumentParser
import CommandSupport
import PurchaseLedger
import Support

/// `purchase-ledger policy`
struct PolicyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "policy", abstract: "Compares the policies in force with the configuration's, and changes them.",
    discussion: """
      Policies decide what purchases grant, so no other command changes them. Without --apply nothing is changed: the \
      command says which policies differ, and how many entitlements would end or begin. The exit code is 1 then.
      """)

  @OptionGroup var wanted: PolicyOptions
  @Flag(help: "Bring them into force.")
  var apply = false
  @OptionGroup var options: CommonOptions

  func run() async throws {
    let settings = try LedgerSettings(options)
    let ledger = try settings.openLedger(warning: false)
    defer { ledger.close() }
    var policy = try settings.configuredPolicy(of: ledger)
    try wanted.set(&policy, settings)
    let change = try apply ? ledger.change(to: policy) : ledger.effect(of: policy)
    if options.json {
      printLine(json(change, in: try ledger.policy).text)
    } else {
      printText(text(change, in: try ledger.policy))
    }
    if !apply, !change.settings.isEmpty { throw ExitCode(.found) }
  }

  private func text(_ change: PolicyChange, in present: LedgerPolicy) -> String {
    guard !change.settings.isEmpty else {
      return present.settings.map { "\($0.name)=\($0.value)" }.joined(separator: "\n")
    }
    let verb = apply ? "" : "would "
    let lines = change.settings.map { "\($0.name): \($0.wanted) \(apply ? "replaces" : "would replace") \($0.present)" }
    let moves = change.moves.map { "\($0.count) entitlements \(verb)go from \($0.from) to \($0.to)" }
    return (lines + (moves.isEmpty ? ["no entitlement \(apply ? "changed" : "would change")"] : moves))
      .joined(separator: "\n")
  }

  private func json(_ change: PolicyChange, in present: LedgerPolicy) -> JSONValue {
    .fields([
      ("applied", .bool(apply && !change.settings.isEmpty)),
      ("policy", .object(present.settings.map { JSONValue.Member($0.name, .string($0.value)) })),
      (
        "changes",
        .array(
          change.settings.map {
            .fields([("policy", .string($0.name)), ("from", .string($0.present)), ("to", .string($0.wanted))])
          })
      ),
      ("ending", .init(Int64(change.endingCount))), ("beginning", .init(Int64(change.beginningCount))),
    ])
  }
}

/// Policies that a command names.
struct PolicyOptions: ParsableArguments {
  @Option(
    parsing: .singleValue,
    help: ArgumentHelp("A policy, such as second-claim=transfer; repeatable.", valueName: "name=value"),
    transform: Self.setting)
  var policy: [Setting] = []

  struct Setting {
    let name: String
    let value: String
  }

  private static func setting(_ text: String) throws -> Setting {
    let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { throw ValidationError("must be name=value, as in second-claim=transfer") }
    return Setting(name: parts[0], value: parts[1])
  }

  /// Sets the policies, each of which may be named once.
  func set(_ policy: inout LedgerPolicy, _ settings: LedgerSettings) throws {
    var names: Set<String> = []
    for setting in self.policy {
      guard names.insert(setting.name).inserted else {
        throw LedgerError(
          .configuration, at: "policy \(setting.name)", "--policy names it twice", remedy: "leave one of them")
      }
      if setting.name == "environment" { try LedgerSettings.check(settings.namedEnvironment, against: setting.value) }
      try policy.set(setting.name, to: setting.value)
    }
  }
}
