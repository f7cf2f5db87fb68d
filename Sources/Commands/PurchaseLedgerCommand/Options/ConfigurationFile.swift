import Configuration
import Foundation
import PurchaseLedger
import Support

/// A configuration file that says only what is understood: an option with a typing error must not go unnoticed.
struct ConfigurationFile {
  /// The file's options by the names of the configuration, `apple.keyId` as two parts.
  private(set) var values: [AbsoluteConfigKey: ConfigValue] = [:]
  /// The file's policies, by name.
  private(set) var policies: [(name: String, value: String)] = []

  private let path: String

  private static let texts: Set<String> = ["ledger", "bundleId", "environment", "googlePublicKey", "packageName"]
  private static let objects: [String: Set<String>] = [
    "apple": ["issuerId", "keyId", "privateKey", "baseUrl"],
    "google": ["serviceAccount", "accessTokenFile", "baseUrl"],
  ]

  /// - Throws: `LedgerError` that names the file and the member.
  init(_ path: String) throws {
    self.path = path
    let value: JSONValue
    do { value = try JSONReader.read(try InputFile.read(path), duplicates: .kept) } catch let error
      as JSONReader.Failure
    {
      throw LedgerError(.configuration, at: path, "is not JSON: \(error)")
    }
    guard let members = value.members else { throw LedgerError(.configuration, at: path, "is no JSON object") }
    var names: Set<String> = []
    for member in members {
      guard names.insert(Self.name(member.name)).inserted else { throw twice(member.name) }
      try take(member)
    }
  }

  private func wrong(_ name: String, _ reason: String) -> LedgerError {
    LedgerError(.configuration, at: "\(path): \(name)", reason)
  }

  private func twice(_ name: String) -> LedgerError {
    wrong(name, "is given twice, perhaps in two spellings; leave one of them")
  }

  private mutating func take(_ member: JSONValue.Member) throws {
    let name = Self.name(member.name)
    if Self.texts.contains(name) {
      guard let text = member.value.string else { throw wrong(member.name, "must be a text in quotation marks") }
      try set([name], .string(text), as: member.name)
    } else if name == "appAppleId" {
      guard let digits = member.value.identifier, let number = Int64(digits), number > 0 else {
        throw wrong(member.name, "must be the app's number at Apple, above 0")
      }
      try set([name], .string(digits), as: member.name)
    } else if name == "now" {
      guard let time = member.value.identifier else {
        throw wrong(member.name, "must be milliseconds since 1970 or a time such as \"2026-11-21T15:00:00Z\"")
      }
      try set([name], .string(time), as: member.name)
    } else if name == "rootCertificates" {
      let files = member.value.array ?? [member.value]
      let names = files.compactMap(\.string)
      guard names.count == files.count else { throw wrong(member.name, "must be a file name, or a list of them") }
      try set([name], .stringArray(names), as: member.name)
    } else if name == "policy" {
      guard let settings = member.value.members else { throw wrong(member.name, "must be an object of policies") }
      for setting in settings { try takePolicy(setting) }
    } else if let names = Self.objects[name] {
      guard let settings = member.value.members else { throw wrong(member.name, "must be an object") }
      for setting in settings {
        let own = Self.name(setting.name)
        guard names.contains(own), let text = setting.value.string else {
          throw wrong(
            member.name, "\(setting.name) is not known or no text; there are \(names.sorted().joined(separator: ", "))")
        }
        try set([name, own], .string(text), as: "\(member.name).\(setting.name)")
      }
    } else {
      throw wrong(member.name, "is not known; see purchase-ledger --help and docs/ledger.md")
    }
  }

  private mutating func takePolicy(_ setting: JSONValue.Member) throws {
    guard let text = setting.value.identifier else {
      throw wrong("policy", "\(setting.name) must be a text or a number")
    }
    var policy = LedgerPolicy()
    do { try policy.set(setting.name, to: text) } catch { throw wrong("policy", "\(setting.name): \(error.message)") }
    guard !policies.contains(where: { $0.name == setting.name }) else { throw twice("policy.\(setting.name)") }
    policies.append((setting.name, text))
  }

  private mutating func set(_ key: [String], _ content: ConfigContent, as name: String) throws {
    let old = values.updateValue(ConfigValue(content, isSecret: false), forKey: AbsoluteConfigKey(key))
    if old != nil { throw twice(name) }
  }

  /// Options may be spelled as the flags are: `bundle-id` is `bundleId`, and `root-certificate`, which is given for each, `rootCertificates`.
  private static func name(_ spelled: String) -> String {
    let parts = spelled.split(separator: "-", omittingEmptySubsequences: false)
    let name = parts.dropFirst().reduce(String(parts[0])) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
    return name == "rootCertificate" ? "rootCertificates" : name
  }
}
