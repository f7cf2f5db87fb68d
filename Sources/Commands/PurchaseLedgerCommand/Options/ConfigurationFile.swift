import Foundation
import PurchaseLedger

/// Looks whether a configuration file says only what is understood: an option with a typing error must not go unnoticed.
enum ConfigurationFile {
  private static let texts: Set<String> = [
    "ledger", "bundleId", "appAppleId", "environment", "googlePublicKey", "packageName", "now",
  ]
  private static let objects: [String: Set<String>] = [
    "apple": ["issuerId", "keyId", "privateKey", "baseUrl"],
    "google": ["serviceAccount", "accessTokenFile", "baseUrl"],
  ]

  /// The file's policies, by name.
  ///
  /// - Throws: `LedgerError` that names the file and the member.
  static func checkedPolicies(_ path: String) throws -> [(name: String, value: String)] {
    let value: JSONValue
    do { value = try JSONReader.read(try InputFile.read(path)) } catch let error as JSONReader.Failure {
      throw LedgerError(.configuration, at: path, "is not JSON: \(error)")
    }
    guard let members = value.members else { throw LedgerError(.configuration, at: path, "is no JSON object") }
    var policies: [(name: String, value: String)] = []
    for member in members {
      func wrong(_ reason: String) -> LedgerError { LedgerError(.configuration, at: "\(path): \(member.name)", reason) }
      if texts.contains(member.name) {
        guard member.value.identifier != nil else { throw wrong("must be a text in quotation marks") }
      } else if member.name == "rootCertificates" {
        guard let files = member.value.elements, files.allSatisfy({ $0.string != nil }) else {
          throw wrong("must be a list of file names")
        }
      } else if member.name == "policy" {
        var policy = LedgerPolicy()
        for setting in member.value.members ?? [] {
          guard let text = setting.value.identifier else { throw wrong("\(setting.name) must be a text or a number") }
          try policy.set(setting.name, to: text)
          policies.append((setting.name, text))
        }
      } else if let names = objects[member.name] {
        for setting in member.value.members ?? [] where !names.contains(setting.name) || setting.value.string == nil {
          throw wrong("\(setting.name) is not known or no text; there are \(names.sorted().joined(separator: ", "))")
        }
      } else {
        throw wrong("is not known; see purchase-ledger --help and docs/ledger.md")
      }
    }
    return policies
  }
}
