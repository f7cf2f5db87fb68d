import Foundation
import PurchaseLedger

/// What the shop is and which store's evidence is believed, from flags, environment and file, in this order.
struct LedgerSettings {
  let ledgerPath: String
  /// Without an environment: whoever verifies sets it.
  var identity: StoreIdentity
  let environment: StoreEnvironment?
  let clock: LedgerClock
  /// Policies of the file, by name.
  let policies: [(name: String, value: String)]
  let reader: SettingsReader

  /// - Throws: `LedgerError`.
  init(_ options: CommonOptions) throws {
    let reader = try SettingsReader(flags: options.values, config: options.config)
    self.reader = reader
    ledgerPath = reader.path("ledger") ?? "ledger.sqlite"
    environment = try reader.text("environment").map(Self.environment)
    var identity = StoreIdentity(rootCertificates: try reader.paths("rootCertificates").map(InputFile.der))
    identity.bundleID = reader.text("bundleId")
    identity.appAppleID = try reader.text("appAppleId").map { text in
      guard let id = Int64(text), id > 0 else {
        throw LedgerError(.configuration, at: "appAppleId", "\"\(text)\" is no number of an app at Apple")
      }
      return id
    }
    identity.googlePublicKey = try reader.path("googlePublicKey").map(InputFile.der)
    identity.packageName = reader.text("packageName")
    clock = try reader.text("now").map { .fixed(try TimeArgument.milliseconds($0, option: "now")) } ?? .system
    policies = reader.policies
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

  private static func environment(_ text: String) throws -> StoreEnvironment {
    let environment = StoreEnvironment(storeText: text)
    guard environment.code != nil else {
      throw LedgerError(.configuration, at: "environment", "\"\(text)\" is neither production nor sandbox")
    }
    return environment
  }

  /// The environment is an option and a policy, which must not say two things.
  static func check(_ environment: StoreEnvironment?, against policy: String) throws {
    guard let environment, environment != StoreEnvironment(storeText: policy) else { return }
    throw LedgerError(
      .configuration, at: "environment",
      "is \(environment.rawValue.lowercased()), and the policy environment is \(policy); leave one of them out")
  }
}

/// Times on the command line and in the file.
enum TimeArgument {
  /// Milliseconds since 1970, from digits or RFC 3339 (`2026-11-21T15:00:00Z`, `2026-11-21`).
  static func milliseconds(_ text: String, option: String) throws -> Int64 {
    if let number = Int64(text) { return number }
    for style in [
      Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true),
      Date.ISO8601FormatStyle().year().month().day(),
    ] {
      if let date = try? style.parse(text) { return Int64((date.timeIntervalSince1970 * 1000).rounded()) }
    }
    throw LedgerError(
      .configuration, at: option, "\"\(text)\" is no time; give milliseconds since 1970 or 2026-11-21T15:00:00Z")
  }

  /// RFC 3339, to the second.
  static func text(_ milliseconds: Int64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601)
  }
}
