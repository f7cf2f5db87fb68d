import CommandConfiguration
import CommandSupport
import Logging
import MapStoreServer
import PurchaseLedger
import ServerSupport

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The settings of `mapstore serve`: flags, environment and configuration file, each option checked. Paths in the file
/// are relative to it.
struct MapStoreSettings {
  let ledger: String
  let options: StoreOptions
  let identity: StoreIdentity
  let logLevel: Logger.Level
  private let values: CommandSettings

  static let schema = ConfigurationSchema(
    environmentPrefix: "mapstore", manual: "docs/reference/store.md lists its members",
    otherVariables: ["PASSWORD"],
    options: ConfigurationOption.texts(
      "host", "publicUrl", "accelPrefix", "trustedProxies", "metricsFrom", "logLevel", "web",
      "googlePushAudience", "googlePushAccount")
      + ["catalogue", "ledger", "products", "googlePublicKey", "googlePushKeys"].map { .init($0, .path) }
      + ["hmacKeyFiles", "grantKeyFiles", "rootCertificates"].map { .init($0, .paths) }
      + [.init("googlePublicKeys", .datedPaths)]
      + [
        .init("bundleId", .list({ _ in })), .init("packageName", .list({ _ in })),
        .init("appAppleId", .list({ _ in })),
        .init("refuseAppleV1", .flag), .init("port", .number(0...65_535)),
        .init("linkSeconds", .number(1...86_400)), .init("sessionSeconds", .number(60...315_360_000)),
        .init("grantSeconds", .number(60...315_360_000)), .init("drainTimeout", .number(0...3_600)),
        .init("pages", .object(pageOptions)),
        .init("limits", .object(counts.map { .init($0.name, .number($0.range)) } + rateOptions)),
      ] + ConfigurationOption.stores)

  /// The limits that are plain numbers.
  private static var counts: [(name: String, path: WritableKeyPath<StoreLimits, Int>, range: ClosedRange<Int>)] {
    [
      ("transfersByAccount", \.transfersByAccount, 1...1_000), ("connections", \.connections, 1...1_000_000),
      ("connectionsByAddress", \.connectionsByAddress, 1...1_000_000), ("bodyBytes", \.bodyBytes, 1_024...(64 << 20)),
      ("bodiesBytes", \.bodiesBytes, (1 << 20)...(64 << 30)), ("answersBytes", \.answersBytes, (1 << 20)...(64 << 30)),
      ("idleSeconds", \.idleSeconds, 1...3_600),
      ("requestSeconds", \.requestSeconds, 1...3_600), ("stallSeconds", \.stallSeconds, 1...3_600),
    ]
  }

  /// The limits that are rates; in the configuration they are per minute.
  private static var rates: [(name: String, path: WritableKeyPath<StoreLimits, StoreLimits.Rate>)] {
    [
      ("requestsByAddressPerMinute", \.requestsByAddress), ("requestsByAccountPerMinute", \.requestsByAccount),
      ("passwordsByAddressPerMinute", \.passwordsByAddress), ("passwordsByLoginPerMinute", \.passwordsByLogin),
      ("passwordsByLoginEverywherePerMinute", \.passwordsByLoginEverywhere),
      ("linksByAccountPerMinute", \.linksByAccount), ("evidencesByAccountPerMinute", \.evidencesByAccount),
      ("unsignedMessagesPerMinute", \.unsignedMessages),
    ]
  }

  private static var rateOptions: [ConfigurationOption] {
    rates.map { .init($0.name, .number(1...100_000_000)) }
  }

  /// - Throws: `ConfigurationError` or `StoreError`.
  init(_ flags: MapStoreFlags) throws {
    let settings = try CommandSettings(Self.schema, flags: flags.values, config: flags.store.config)
    values = settings
    ledger = settings.text("ledger") ?? "ledger.sqlite"
    guard let catalogue = settings.text("catalogue") else {
      throw ConfigurationError(
        option: "catalogue",
        "is missing; name the folder that tilecut build has filled: tilecut build regions.json -o FOLDER")
    }
    var options = StoreOptions(catalogFolder: catalogue)
    options.products = settings.text("products")
    options.host = settings.text("host") ?? options.host
    options.port = try settings.number("port") ?? options.port
    options.publicURL = try settings.text("publicUrl").map {
      try CommandSettings.baseURL($0, option: "publicUrl", example: "https://maps.example.org")
    }
    options.linkKeys = settings.paths("hmacKeyFiles")
    options.grantKeys = settings.paths("grantKeyFiles")
    options.accelPrefix = try settings.text("accelPrefix").map(Self.checkedPrefix)
    options.googlePush = try Self.googlePush(settings)
    options.refusesAppleV1 = try settings.flag("refuseAppleV1") ?? false
    options.trustedProxies = Set(settings.list("trustedProxies"))
    let monitors = settings.list("metricsFrom")
    if !monitors.isEmpty { options.metricsFrom = Set(monitors) }
    options.webFolders = settings.list("web") + WebLibraries.folders()
    options.pages = Self.pages(settings)
    options.linkSeconds = try settings.number("linkSeconds") ?? options.linkSeconds
    options.sessionSeconds = try settings.number("sessionSeconds") ?? options.sessionSeconds
    options.grantSeconds = try settings.number("grantSeconds") ?? options.grantSeconds
    options.drainSeconds = try settings.number("drainTimeout") ?? options.drainSeconds
    for (name, path, _) in Self.counts {
      if let number = try settings.number("limits.\(name)") { options.limits[keyPath: path] = number }
    }
    for (name, path) in Self.rates {
      guard let number = try settings.number("limits.\(name)") else { continue }
      // A burst is half a minute's worth, so that a client can catch up after a pause.
      let burst = max(options.limits[keyPath: path].burst, number / 2)
      options.limits[keyPath: path] = StoreLimits.Rate(burst: burst, perMinute: number)
    }
    self.options = options
    identity = try Self.identity(settings)
    logLevel = try CommandSettings.choice(settings.text("logLevel") ?? "info", option: "logLevel")
    try settings.checkFolders("web")
  }

  /// How the pages look, and where they lead.
  private static let pageOptions: [ConfigurationOption] =
    ConfigurationOption.texts(
      "name", "accent", "accentDark", "openInApp", "appStore", "googlePlay", "checkout", "appleApps", "androidPackage",
      "androidFingerprints") + [.init("logo", .path), .init("texts", .paths)]

  private static func pages(_ settings: CommandSettings) -> PageOptions {
    func text(_ name: String) -> String? { settings.text("pages.\(name)") }
    var pages = PageOptions()
    (pages.name, pages.logo) = (text("name"), text("logo"))
    (pages.accent, pages.accentDark) = (text("accent"), text("accentDark"))
    pages.texts = settings.paths("pages.texts")
    (pages.openInApp, pages.checkout) = (text("openInApp"), text("checkout"))
    (pages.appStore, pages.googlePlay) = (text("appStore"), text("googlePlay"))
    pages.appleApps = settings.list("pages.appleApps")
    pages.androidPackage = text("androidPackage")
    pages.androidFingerprints = settings.list("pages.androidFingerprints")
    return pages
  }

  /// Who is asked about purchases before they are granted; nil where there is no key of a store.
  ///
  /// - Throws: `LedgerError` that names what is missing.
  func confirmation(for ledger: Ledger) throws -> StoreConfirmation? {
    let policy = try ledger.policy
    let access = StoreAccess(
      identity: identity.bounded(by: policy), clock: .system, text: { values.text($0) }, read: Self.bytes)
    let stores = access.stores
    guard !stores.isEmpty else { return nil }
    let (rate, retry) = (StoreConfirmation.rate, StoreConfirmation.retry)
    return StoreConfirmation(
      apple: stores.contains(.apple) ? try access.appStoreClients(for: ledger, rate: rate, retry: retry) : [],
      google: stores.contains(.google) ? try access.googlePlayClients(for: ledger, rate: rate, retry: retry) : [])
  }

  private static func googlePush(_ settings: CommandSettings) throws -> StoreOptions.PushRule? {
    let (keys, audience) = (settings.text("googlePushKeys"), settings.text("googlePushAudience"))
    let account = settings.text("googlePushAccount")
    if keys == nil, audience == nil, account == nil { return nil }
    guard let keys, let audience else {
      throw ConfigurationError(
        option: keys == nil ? "googlePushKeys" : "googlePushAudience",
        "is missing; pushes are verified with both, the file of Google's keys and the audience of the subscription")
    }
    return StoreOptions.PushRule(keys: keys, audience: audience, account: account)
  }

  /// Whose evidence the store accepts.
  private static func identity(_ settings: CommandSettings) throws -> StoreIdentity {
    var identity = StoreIdentity()
    identity.rootCertificates = try settings.paths("rootCertificates").map(Self.der)
    identity.bundleIDs = settings.list("bundleId")
    identity.appAppleIDs = try settings.list("appAppleId").map { text in
      guard let id = Int64(text) else {
        throw ConfigurationError(option: "appAppleId", "\"\(text)\" is no number; give the app's number")
      }
      return id
    }
    identity.googlePublicKey = try settings.text("googlePublicKey").map(Self.der)
    identity.otherLicensingKeys = try settings.datedPaths("googlePublicKeys").map {
      LicensingKey(der: try Self.der($0.path), from: $0.from, until: $0.until)
    }
    identity.packageNames = settings.list("packageName")
    identity.requiresApp = true
    return identity
  }

  // MARK: Values

  private static func checkedPrefix(_ text: String) throws -> String {
    guard text.hasPrefix("/"), text.hasSuffix("/"), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
      throw ConfigurationError(
        option: "accelPrefix",
        "\"\(text)\" does not begin and end with a slash; give nginx's internal location, such as /bundles/")
    }
    return text
  }

  private static func bytes(_ path: String) throws -> [UInt8] {
    guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)) else {
      throw StoreError(.unreadableInput, at: path, "cannot be read", remedy: "check the name and permissions")
    }
    return [UInt8](data)
  }

  private static func der(_ path: String) throws -> [UInt8] {
    guard let der = DERText.decode(try bytes(path)) else {
      throw StoreError(
        .unreadableInput, at: path, "is neither DER nor PEM", remedy: "give the file as the store publishes it")
    }
    return der
  }
}
