import Configuration
import Foundation
import PurchaseLedger

/// The values of options; paths in the file are relative to it, others to where the command runs.
struct SettingsReader {
  private let given: ConfigReader
  private let file: ConfigReader?
  private let folder: String
  /// The file's policies, by name.
  let policies: [(name: String, value: String)]

  /// - Parameters:
  ///   - flags: By the names of the configuration.
  ///   - config: The configuration file that a flag names.
  /// - Throws: `LedgerError` that names the file and what is wrong in it.
  init(flags: [AbsoluteConfigKey: ConfigValue], config: String?) throws {
    given = ConfigReader(providers: [
      InMemoryProvider(values: flags), EnvironmentVariablesProvider().prefixKeys(with: "purchaseLedger"),
    ])
    guard let path = config ?? ProcessInfo.processInfo.environment["PURCHASE_LEDGER_CONFIG"] else {
      (file, folder, policies) = (nil, ".", [])
      return
    }
    let read = try ConfigurationFile(path)
    policies = read.policies
    file = ConfigReader(provider: InMemoryProvider(values: read.values))
    folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
  }

  /// A text, or a number's digits. A point in the name goes into an object.
  func text(_ name: String) -> String? {
    let key = ConfigKey(name.split(separator: ".").map(String.init))
    return Self.text(given, key) ?? file.flatMap { Self.text($0, key) }
  }

  func path(_ name: String) -> String? {
    let key = ConfigKey(name.split(separator: ".").map(String.init))
    return Self.text(given, key) ?? file.flatMap { Self.text($0, key) }.map(resolved)
  }

  func paths(_ name: String) -> [String] {
    let key = ConfigKey([name])
    if let paths = given.stringArray(forKey: key) { return paths }
    return (file?.stringArray(forKey: key) ?? []).map(resolved)
  }

  private func resolved(_ path: String) -> String { path.hasPrefix("/") ? path : "\(folder)/\(path)" }

  private static func text(_ reader: ConfigReader, _ key: ConfigKey) -> String? {
    reader.string(forKey: key) ?? reader.int(forKey: key).map(String.init)
  }
}

extension CommonOptions {
  /// The flags that were given, by the names of the configuration.
  var values: [AbsoluteConfigKey: ConfigValue] {
    var values: [AbsoluteConfigKey: ConfigValue] = [:]
    let texts = [
      "ledger": ledger, "bundleId": bundleId, "appAppleId": appAppleId, "environment": environment,
      "googlePublicKey": googlePublicKey, "packageName": packageName, "now": now,
    ]
    for (name, text) in texts {
      if let text { values[AbsoluteConfigKey([name])] = ConfigValue(.string(text), isSecret: false) }
    }
    if !rootCertificates.isEmpty {
      values[AbsoluteConfigKey(["rootCertificates"])] = ConfigValue(.stringArray(rootCertificates), isSecret: false)
    }
    return values
  }
}
