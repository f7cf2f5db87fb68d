import CommandConfiguration
import CommandSupport
import PurchaseLedger

/// The ledger, and the app whose evidence is accepted, from flags, environment and configuration file. Each option is
/// checked. Paths in the file are relative to it.
struct LedgerSettings {
  let ledgerPath: String
  /// Without an environment, which the verifier sets.
  var identity: StoreIdentity
  let environment: StoreEnvironment?
  let clock: LedgerClock
  /// Policies of the file, by name.
  let policies: [(name: String, value: String)]
  /// All values, for options that only some subcommands need.
  let values: CommandSettings

  static let schema = ConfigurationSchema(
    environmentPrefix: "purchaseLedger", manual: "see purchase-ledger --help and docs/reference/ledger.md",
    options: [
      .text("environment"), .init("bundleId", .list({ _ in })), .init("packageName", .list({ _ in })),
      .init("ledger", .path), .init("googlePublicKey", .path), .init("googlePublicKeys", .datedPaths),
      .init("rootCertificates", .paths),
      .init("appAppleId", .list({ _ = try appAppleID($0) })),
      .init(
        "now",
        .textOrNumber({ _ in }, mustBe: "milliseconds since 1970 or a time such as \"2026-11-21T15:00:00Z\"")),
      .init("policy", .settings(of: "policies", checkPolicy)),
    ] + ConfigurationOption.stores)

  /// The unchecked values of flags, environment and file.
  static func values(_ flags: FlagValues, config: String?) throws -> CommandSettings {
    try CommandSettings(schema, flags: flags, config: config)
  }

  /// - Parameter flags: those of the subcommand beyond the common ones.
  /// - Throws: `ConfigurationError` or `LedgerError`.
  init(_ options: CommonOptions, _ flags: FlagValues = FlagValues()) throws {
    let values = try Self.values(options.values.adding(flags), config: options.config)
    self.values = values
    ledgerPath = values.text("ledger") ?? "ledger.sqlite"
    environment = try values.text("environment").map(Self.environment)
    var identity = StoreIdentity(rootCertificates: try values.paths("rootCertificates").map(InputFile.der))
    identity.bundleIDs = values.list("bundleId")
    identity.appAppleIDs = try values.list("appAppleId").map(Self.appAppleID)
    identity.googlePublicKey = try values.text("googlePublicKey").map(InputFile.der)
    identity.otherLicensingKeys = try values.datedPaths("googlePublicKeys").map {
      LicensingKey(der: try InputFile.der($0.path), from: $0.from, until: $0.until)
    }
    identity.packageNames = values.list("packageName")
    identity.requiresApp = true
    clock = try values.text("now").map { .fixed(try TimeArgument.milliseconds($0, option: "now")) } ?? .system
    policies = values.members(of: "policy")
    for (name, value) in policies where name == "environment" {
      try Self.check(environment, against: value)
    }
    var policy = LedgerPolicy()
    for (name, value) in policies { try policy.set(name, to: value) }
    self.identity = identity.bounded(by: policy)
  }

  /// The environment that the option or the file's policy names.
  var namedEnvironment: StoreEnvironment? {
    environment ?? policies.last { $0.name == "environment" }.map { StoreEnvironment(storeText: $0.value) }
  }

  @Sendable private static func appAppleID(_ text: String) throws -> Int64 {
    guard let id = Int64(text), id > 0 else {
      throw ConfigurationError(option: "appAppleId", "\"\(text)\" is no number of an app at Apple")
    }
    return id
  }

  @Sendable private static func checkPolicy(_ name: String, _ value: String) throws {
    var policy = LedgerPolicy()
    do { try policy.set(name, to: value) } catch { throw ConfigurationError(error.message) }
  }

  private static func environment(_ text: String) throws -> StoreEnvironment {
    let environment = StoreEnvironment(storeText: text)
    // Not the other spellings of old notifications.
    guard environment.code != nil, environment.rawValue.lowercased() == text.lowercased() else {
      throw LedgerError(
        .configuration, at: "environment", "\"\(text)\" is neither production nor sandbox", remedy: "give one of them")
    }
    return environment
  }

  /// The environment is an option and a policy: both must be the same.
  static func check(_ environment: StoreEnvironment?, against policy: String) throws {
    guard let environment, environment != StoreEnvironment(storeText: policy) else { return }
    throw LedgerError(
      .configuration, at: "environment",
      "is \(environment.rawValue.lowercased()), and the policy environment is \(policy)",
      remedy: "leave one of them out")
  }

  // MARK: The ledger

  /// Opens the ledger to write. The recorded policies stay in force.
  func openLedger(warning: Bool = true) throws -> Ledger {
    let ledger = try Ledger.open(at: ledgerPath, policy: nil, clock: clock)
    if warning { try warnOfPolicies(ledger) }
    return ledger
  }

  /// Opens the ledger to read: the recorded policies stay in force.
  func openLedgerToRead() throws -> Ledger {
    let ledger = try Ledger.openToRead(at: ledgerPath, clock: clock)
    try warnOfPolicies(ledger)
    return ledger
  }

  /// Notes for `status` how a command ended. The command's result does not depend on it.
  func note(_ note: LastRunNote, of name: String) {
    guard !note.record(name, in: ledgerPath, at: clock.now()) else { return }
    printError(
      "purchase-ledger: \(ledgerPath): cannot be written now, so status will not know of this run")
  }

  private func warnOfPolicies(_ ledger: Ledger) throws {
    let differing = try configuredPolicy(of: ledger).differences(from: ledger.policy)
    guard !differing.isEmpty else { return }
    let list = differing.map { "\($0.name) is \($0.present), and \($0.wanted) in the configuration" }
    printError(
      """
      purchase-ledger: \(ledgerPath): \(list.joined(separator: "; ")): `purchase-ledger policy` says what that would \
      change, and with --apply changes it
      """)
  }

  /// - Throws: `LedgerError` when the ledger was made for another environment.
  func configuredPolicy(of ledger: Ledger) throws -> LedgerPolicy {
    var policy = try ledger.policy
    if let environment, environment != policy.environment {
      throw LedgerError(
        .configuration, at: "environment",
        "is \(environment) here, but \(ledgerPath) was made for \(policy.environment)",
        remedy: "leave it out or name another ledger")
    }
    for (name, value) in policies { try policy.set(name, to: value) }
    return policy
  }

  /// Whose evidence the ledger accepts, with its limits of size and clock.
  func identity(for ledger: Ledger) throws -> StoreIdentity {
    identity.bounded(by: try ledger.policy)
  }
}
