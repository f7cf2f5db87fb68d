import Configuration
import Foundation
import Logging
import MapStoreServer
import PurchaseLedger
import SystemPackage

/// What `mapstore serve` is to do, from flags, environment and file, in this order. Paths in the file are relative to it.
struct ServeSettings {
  var ledger: String
  var options: StoreOptions
  var identity: StoreIdentity
  var logLevel: Logger.Level

  private let given: ConfigReader
  private let file: ConfigReader?
  private let folder: String

  /// - Throws: `StoreError` or `LedgerError`.
  init(_ flags: ServeFlags) async throws {
    given = ConfigReader(providers: [
      InMemoryProvider(values: flags.values), EnvironmentVariablesProvider().prefixKeys(with: "mapstore"),
    ])
    if let path = flags.config ?? ProcessInfo.processInfo.environment["MAPSTORE_CONFIG"] {
      try ConfigurationFile.check(path)
      do {
        file = ConfigReader(provider: try await FileProvider<JSONSnapshot>(filePath: FilePath(path)))
      } catch {
        throw StoreError(.unreadableInput, at: path, "cannot be used: \(error)", remedy: "write a JSON object")
      }
      folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    } else {
      (file, folder) = (nil, ".")
    }
    (ledger, options, identity, logLevel) = ("", StoreOptions(shelf: ""), StoreIdentity(), .info)
    try read()
  }

  private mutating func read() throws {
    ledger = path("ledger") ?? "ledger.sqlite"
    guard let shelf = path("shelf") else {
      throw StoreError(
        .invalidOption, at: "shelf", "is missing", remedy: "name the folder that tilecut build has filled")
    }
    options.shelf = shelf
    options.products = path("products")
    options.host = text("host") ?? options.host
    options.port = try number("port") ?? options.port
    options.publicURL = try text("publicUrl").map(Self.checkedURL)
    options.linkKeys = paths("hmacKeyFiles")
    options.grantKeys = paths("grantKeyFiles")
    options.accelPrefix = try text("accelPrefix").map(Self.checkedPrefix)
    options.googlePush = try readGooglePush()
    options.refusesAppleV1 = try flag("refuseAppleV1") ?? false
    options.trustedProxies = Set(Self.list(text("trustedProxies")))
    options.webFolders = Self.list(text("web")) + options.webFolders
    options.linkSeconds = try number("linkSeconds") ?? options.linkSeconds
    options.sessionSeconds = try number("sessionSeconds") ?? options.sessionSeconds
    options.grantSeconds = try number("grantSeconds") ?? options.grantSeconds
    options.drainSeconds = try number("drainTimeout") ?? options.drainSeconds
    try readLimits()
    try readIdentity()
    let level = text("logLevel") ?? "info"
    guard let known = Logger.Level(rawValue: level) else {
      throw StoreError(
        .invalidOption, at: "logLevel", "\"\(level)\" is no level",
        remedy: "choose one of \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    logLevel = known
  }

  private mutating func readLimits() throws {
    func set(_ name: String, _ path: WritableKeyPath<StoreLimits, Int>, _ limits: inout StoreLimits) throws {
      if let number = try number("limits.\(name)") { limits[keyPath: path] = number }
    }
    var limits = options.limits
    try set("transfersByAccount", \.transfersByAccount, &limits)
    try set("connections", \.connections, &limits)
    try set("connectionsByAddress", \.connectionsByAddress, &limits)
    try set("bodyBytes", \.bodyBytes, &limits)
    try set("bodiesBytes", \.bodiesBytes, &limits)
    try set("idleSeconds", \.idleSeconds, &limits)
    try set("requestSeconds", \.requestSeconds, &limits)
    try set("stallSeconds", \.stallSeconds, &limits)
    for (name, path) in [
      ("requestsByAddress", \StoreLimits.requestsByAddress), ("requestsByAccount", \.requestsByAccount),
      ("passwordsByAddress", \.passwordsByAddress), ("passwordsByLogin", \.passwordsByLogin),
      ("passwordsByLoginEverywhere", \.passwordsByLoginEverywhere), ("linksByAccount", \.linksByAccount),
      ("evidencesByAccount", \.evidencesByAccount), ("unsignedMessages", \.unsignedMessages),
    ] {
      guard let number = try number("limits.\(name)PerMinute") else { continue }
      // A burst of half a minute, so that a pause is not punished.
      limits[keyPath: path] = StoreLimits.Rate(burst: max(limits[keyPath: path].burst, number / 2), perMinute: number)
    }
    options.limits = limits
  }

  private func readGooglePush() throws -> StoreOptions.PushRule? {
    let (keys, audience) = (path("googlePushKeys"), text("googlePushAudience"))
    if keys == nil, audience == nil, text("googlePushAccount") == nil { return nil }
    guard let keys, let audience else {
      throw StoreError(
        .invalidOption, at: keys == nil ? "googlePushKeys" : "googlePushAudience", "is missing",
        remedy: "pushes are verified with both, the file of Google's keys and the audience of the subscription")
    }
    return StoreOptions.PushRule(keys: keys, audience: audience, account: text("googlePushAccount"))
  }

  private mutating func readIdentity() throws {
    identity.rootCertificates = try paths("rootCertificates").map(Self.der)
    identity.bundleID = text("bundleId")
    identity.appAppleID = try text("appAppleId").map { text in
      guard let id = Int64(text) else {
        throw StoreError(.invalidOption, at: "appAppleId", "\"\(text)\" is no number", remedy: "give the app's number")
      }
      return id
    }
    identity.googlePublicKey = try path("googlePublicKey").map(Self.der)
    identity.packageName = text("packageName")
  }

  // MARK: Values

  private func text(_ name: String) -> String? {
    let key = ConfigKey(name.split(separator: ".").map(String.init))
    return given.string(forKey: key) ?? file?.string(forKey: key)
  }

  private func path(_ name: String) -> String? {
    given.string(forKey: ConfigKey([name])) ?? file?.string(forKey: ConfigKey([name])).map(resolved)
  }

  private func paths(_ name: String) -> [String] {
    given.stringArray(forKey: ConfigKey([name]))
      ?? (file?.stringArray(forKey: ConfigKey([name])) ?? []).map(resolved)
  }

  private func resolved(_ path: String) -> String { path.hasPrefix("/") ? path : "\(folder)/\(path)" }

  /// A number within its range; a value that is none is an error, not the default.
  private func number(_ name: String) throws -> Int? {
    let key = ConfigKey(name.split(separator: ".").map(String.init))
    guard let range = ConfigurationFile.range(of: name) else { return nil }
    var found = given.string(forKey: key)
    if found == nil, let number = given.int(forKey: key) ?? file?.int(forKey: key) { found = String(number) }
    guard let text = found else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw StoreError(
        .invalidOption, at: name, "\"\(text)\" cannot be taken",
        remedy: "give a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// A switch; what is neither true nor false is an error, not the default.
  private func flag(_ name: String) throws -> Bool? {
    let key = ConfigKey([name])
    if let value = given.bool(forKey: key) { return value }
    if let text = given.string(forKey: key) {
      throw StoreError(
        .invalidOption, at: name, "\"\(text)\" is neither true nor false", remedy: "give true or false")
    }
    return file?.bool(forKey: key)
  }

  private static func list(_ text: String?) -> [String] {
    (text ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }

  private static func checkedURL(_ text: String) throws -> String {
    guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host() != nil, url.query() == nil
    else {
      throw StoreError(
        .invalidOption, at: "publicUrl", "\"\(text)\" is no URL", remedy: "give one such as https://maps.example.org")
    }
    return text.hasSuffix("/") ? String(text.dropLast()) : text
  }

  private static func checkedPrefix(_ text: String) throws -> String {
    guard text.hasPrefix("/"), text.hasSuffix("/"), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
      throw StoreError(
        .invalidOption, at: "accelPrefix", "\"\(text)\" does not begin and end with a slash",
        remedy: "give nginx's internal location, such as /shelf/")
    }
    return text
  }

  private static func der(_ path: String) throws -> [UInt8] {
    guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)) else {
      throw StoreError(.unreadableInput, at: path, "cannot be read", remedy: "check the name and permissions")
    }
    guard let der = DERText.decode([UInt8](data)) else {
      throw StoreError(
        .unreadableInput, at: path, "is neither DER nor PEM", remedy: "give the file as the store handed it out")
    }
    return der
  }
}

extension ServeFlags {
  /// The flags that were given, by the names of the configuration.
  fileprivate var values: [AbsoluteConfigKey: ConfigValue] {
    var values: [AbsoluteConfigKey: ConfigValue] = [:]
    let texts = [
      "shelf": shelf, "ledger": ledger, "products": products, "host": host, "port": port.map(String.init),
      "publicUrl": publicUrl, "accelPrefix": accelPrefix, "trustedProxies": trustedProxies, "bundleId": bundleId,
      "appAppleId": appAppleId, "googlePublicKey": googlePublicKey, "packageName": packageName, "logLevel": logLevel,
      "web": web, "googlePushKeys": googlePushKeys, "googlePushAudience": googlePushAudience,
      "googlePushAccount": googlePushAccount, "drainTimeout": drainTimeout.map(String.init),
    ]
    for (name, text) in texts {
      if let text { values[AbsoluteConfigKey([name])] = ConfigValue(.string(text), isSecret: false) }
    }
    if refuseAppleV1 { values[AbsoluteConfigKey(["refuseAppleV1"])] = ConfigValue(.bool(true), isSecret: false) }
    for (name, list) in [
      "hmacKeyFiles": hmacKeyFile, "grantKeyFiles": grantKeyFile, "rootCertificates": rootCertificates,
    ] where !list.isEmpty {
      values[AbsoluteConfigKey([name])] = ConfigValue(.stringArray(list), isSecret: false)
    }
    return values
  }
}
