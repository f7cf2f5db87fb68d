import CommandConfiguration
import CommandSupport
import PurchaseLedger

extension LedgerSettings {
  /// The stores for which the configuration has keys.
  var configuredStores: Set<Store> {
    var stores: Set<Store> = []
    if values.text("apple.privateKey") != nil { stores.insert(.apple) }
    if values.text("google.serviceAccount") ?? values.text("google.accessTokenFile") != nil { stores.insert(.google) }
    return stores
  }

  /// One client for each app, with the same key.
  func appStoreClients(for ledger: Ledger) throws -> [AppStoreClient] {
    // Without these every response of the store would be refused, or responses about any app accepted.
    if identity.rootCertificates.isEmpty { _ = try required(nil, "rootCertificates") }
    if try ledger.policy.environment == .production {
      _ = try required(identity.appAppleID.map(String.init), "appAppleId")
    }
    let file = try required(values.text("apple.privateKey"), "apple.privateKey")
    var credentials = AppStoreCredentials(
      issuerID: try required(values.text("apple.issuerId"), "apple.issuerId"),
      keyID: try required(values.text("apple.keyId"), "apple.keyId"),
      privateKey: String(decoding: try InputFile.read(file), as: UTF8.self),
      bundleID: try required(identity.bundleID, "bundleId"))
    let first = try ledger.firstApp(of: .apple, among: identity.bundleIDs)
    let verifier = try AppleVerifier(identity: identity(for: ledger))
    return try identity.bundleIDs.map { app in
      credentials.bundleID = app
      return try AppStoreClient(
        credentials: credentials, environment: ledger.policy.environment, verifier: verifier, clock: clock,
        baseURL: values.text("apple.baseUrl"), isFirstApp: app == first)
    }
  }

  /// One client for each app, with the same credentials.
  func googlePlayClients(for ledger: Ledger) throws -> [GooglePlayClient] {
    let credentials: GoogleCredentials
    if let file = values.text("google.accessTokenFile") {
      let text = String(decoding: try InputFile.read(file), as: UTF8.self)
      credentials = .accessToken(text.filter { !$0.isWhitespace })
    } else {
      let file = try required(values.text("google.serviceAccount"), "google.serviceAccount")
      credentials = try .serviceAccount(json: InputFile.read(file), file: file)
    }
    _ = try required(identity.packageName, "packageName")
    let first = try ledger.firstApp(of: .google, among: identity.packageNames)
    let verifier = try GoogleVerifier(identity: identity(for: ledger))
    return try identity.packageNames.map { app in
      try GooglePlayClient(
        packageName: app, credentials: credentials, environment: ledger.policy.environment, verifier: verifier,
        clock: clock, baseURL: values.text("google.baseUrl"), isFirstApp: app == first)
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

extension [AppStoreClient] {
  /// Shuts the clients down after the work, also after a failure.
  func closing<Value>(_ work: (Self) async throws -> Value) async throws -> Value {
    let result = await Result { try await work(self) }
    for client in self { try? await client.shutdown() }
    return try result.get()
  }
}

extension [GooglePlayClient] {
  func closing<Value>(_ work: (Self) async throws -> Value) async throws -> Value {
    let result = await Result { try await work(self) }
    for client in self { try? await client.shutdown() }
    return try result.get()
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ work: () async throws -> Success) async {
    do { self = .success(try await work()) } catch { self = .failure(error) }
  }
}
