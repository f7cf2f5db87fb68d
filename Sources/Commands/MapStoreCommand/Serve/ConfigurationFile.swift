import Foundation
import MapStoreServer

/// Looks whether a configuration file says only what is understood: an option with a typing error must not go unnoticed.
enum ConfigurationFile {
  static let texts: Set<String> = [
    "shelf", "ledger", "products", "host", "publicUrl", "accelPrefix", "trustedProxies", "bundleId", "appAppleId",
    "googlePublicKey", "packageName", "logLevel", "web", "googlePushKeys",
    "googlePushAudience", "googlePushAccount",
  ]
  static let switches: Set<String> = ["refuseAppleV1"]
  static let lists: Set<String> = ["hmacKeyFiles", "grantKeyFiles", "rootCertificates"]
  static let numbers: [String: ClosedRange<Int>] = [
    "port": 0...65_535, "linkSeconds": 1...86_400, "sessionSeconds": 60...315_360_000,
    "grantSeconds": 60...315_360_000, "drainTimeout": 0...3_600,
  ]
  static let limits: [String: ClosedRange<Int>] = [
    "transfersByAccount": 1...1_000, "connections": 1...1_000_000, "connectionsByAddress": 1...1_000_000,
    "bodyBytes": 1_024...(64 << 20), "bodiesBytes": (1 << 20)...(64 << 30),
    "idleSeconds": 1...3_600, "requestSeconds": 1...3_600, "stallSeconds": 1...3_600,
    "requestsByAddressPerMinute": 1...100_000_000, "requestsByAccountPerMinute": 1...100_000_000,
    "passwordsByAddressPerMinute": 1...100_000_000, "passwordsByLoginPerMinute": 1...100_000_000,
    "passwordsByLoginEverywherePerMinute": 1...100_000_000, "linksByAccountPerMinute": 1...100_000_000,
    "evidencesByAccountPerMinute": 1...100_000_000, "unsignedMessagesPerMinute": 1...100_000_000,
  ]

  /// What an option that is a number may be; of limits by `limits.NAME`.
  static func range(of name: String) -> ClosedRange<Int>? {
    name.hasPrefix("limits.") ? limits[String(name.dropFirst("limits.".count))] : numbers[name]
  }

  /// - Throws: `StoreError` that names the file and the member.
  static func check(_ path: String) throws {
    func wrong(_ message: String) -> StoreError {
      StoreError(.invalidOption, at: path, message, remedy: "docs/store.md lists what may stand in it")
    }
    guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)) else {
      throw StoreError(.unreadableInput, at: path, "cannot be read", remedy: "check the name and permissions")
    }
    guard let object = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] else {
      throw wrong("is no JSON object")
    }
    func checkNumbers(_ members: [String: Any], _ known: [String: ClosedRange<Int>], _ place: String) throws {
      for (name, value) in members.sorted(by: { $0.key < $1.key }) {
        guard let range = known[name] else { throw wrong("\(place)\(name) is not known") }
        // Foundation takes true for the number 1, of the type of a character.
        guard let number = value as? NSNumber, number.objCType.pointee != CChar(UInt8(ascii: "c")),
          Double(exactly: number.intValue) == number.doubleValue, range.contains(number.intValue)
        else { throw wrong("\(place)\(name) is no whole number from \(range.lowerBound) to \(range.upperBound)") }
      }
    }
    for (name, value) in object.sorted(by: { $0.key < $1.key }) {
      if texts.contains(name) {
        guard value is String else { throw wrong("\(name) is no text in quotation marks") }
      } else if switches.contains(name) {
        guard let number = value as? NSNumber, number.objCType.pointee == CChar(UInt8(ascii: "c")) else {
          throw wrong("\(name) is neither true nor false")
        }
      } else if lists.contains(name) {
        guard value is [String] else { throw wrong("\(name) is no list of file names") }
      } else if name == "limits" {
        guard let members = value as? [String: Any] else { throw wrong("limits is no object") }
        try checkNumbers(members, limits, "limits.")
      } else {
        try checkNumbers([name: value], numbers, "")
      }
    }
  }
}
