import Support

/// Makes the clients of the stores' interfaces from options: `apple.issuerId`, `apple.keyId`, `apple.privateKey`,
/// `apple.baseUrl`, `google.serviceAccount`, `google.accessTokenFile`, `google.baseUrl`.
package struct StoreAccess {
  private let identity: StoreIdentity
  private let clock: LedgerClock
  private let text: (String) -> String?
  private let read: (String) throws -> [UInt8]

  /// - Parameters:
  ///   - identity: The apps, with the ledger's limits of size and clock.
  ///   - text: The value of an option; nil where it is not given.
  ///   - read: The bytes of a file.
  package init(
    identity: StoreIdentity, clock: LedgerClock, text: @escaping (String) -> String?,
    read: @escaping (String) throws -> [UInt8]
  ) {
    (self.identity, self.clock, self.text, self.read) = (identity, clock, text, read)
  }

  /// The stores for which there are keys.
  package var stores: Set<Store> {
    var stores: Set<Store> = []
    if text("apple.privateKey") != nil { stores.insert(.apple) }
    if text("google.serviceAccount") ?? text("google.accessTokenFile") != nil { stores.insert(.google) }
    return stores
  }

  /// One client for each app, with the same key.
  package func appStoreClients(
    for ledger: Ledger, rate: Double = 20, retry: RetryPolicy = .init()
  ) throws -> [AppStoreClient] {
    let environment = try ledger.policy.environment
    // Without these every response of the store would be refused, or responses about any app accepted.
    if identity.rootCertificates.isEmpty { _ = try required(nil, "rootCertificates") }
    if environment == .production { _ = try required(identity.appAppleID.map(String.init), "appAppleId") }
    let file = try required(text("apple.privateKey"), "apple.privateKey")
    var credentials = AppStoreCredentials(
      issuerID: try required(text("apple.issuerId"), "apple.issuerId"),
      keyID: try required(text("apple.keyId"), "apple.keyId"),
      privateKey: String(decoding: try read(file), as: UTF8.self),
      bundleID: try required(identity.bundleID, "bundleId"))
    let first = try ledger.firstApp(of: .apple, among: identity.bundleIDs)
    let verifier = try AppleVerifier(identity: identity)
    return try identity.bundleIDs.map { app in
      credentials.bundleID = app
      return try AppStoreClient(
        credentials: credentials, environment: environment, verifier: verifier, clock: clock,
        baseURL: text("apple.baseUrl"), rate: rate, retry: retry, isFirstApp: app == first)
    }
  }

  /// One client for each app, with the same credentials.
  package func googlePlayClients(
    for ledger: Ledger, rate: Double = 20, retry: RetryPolicy = .init()
  ) throws -> [GooglePlayClient] {
    let credentials: GoogleCredentials
    if let file = text("google.accessTokenFile") {
      let text = String(decoding: try read(file), as: UTF8.self)
      credentials = .accessToken(text.filter { !$0.isWhitespace })
    } else {
      let file = try required(text("google.serviceAccount"), "google.serviceAccount")
      credentials = try .serviceAccount(json: read(file), file: file)
    }
    _ = try required(identity.packageName, "packageName")
    let first = try ledger.firstApp(of: .google, among: identity.packageNames)
    let (environment, verifier) = (try ledger.policy.environment, try GoogleVerifier(identity: identity))
    return try identity.packageNames.map { app in
      try GooglePlayClient(
        packageName: app, credentials: credentials, environment: environment, verifier: verifier, clock: clock,
        baseURL: text("google.baseUrl"), rate: rate, retry: retry, isFirstApp: app == first)
    }
  }

  private func required(_ value: String?, _ name: String) throws -> String {
    guard let value else {
      throw LedgerError(
        .configuration, at: name, "is needed to query the store", remedy: "put it into the configuration file")
    }
    return value
  }
}
