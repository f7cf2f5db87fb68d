import AsyncHTTPClient
import Crypto
import Foundation
import Support

/// Who asks the App Store Server API.
public struct AppStoreCredentials: Sendable {
  public var issuerID: String
  public var keyID: String
  /// The In-App Purchase key from App Store Connect (.p8), PEM.
  public var privateKey: String
  public var bundleID: String

  public init(issuerID: String, keyID: String, privateKey: String, bundleID: String) {
    self.issuerID = issuerID
    self.keyID = keyID
    self.privateKey = privateKey
    self.bundleID = bundleID
  }
}

/// Asks the App Store Server API and puts what it answers, verified, into a snapshot.
///
/// Every page is stored together with the place behind it, so a pull that was interrupted goes on there. `shutdown` must be called at the end.
public final class AppStoreClient: Sendable {
  let requests: StoreRequests
  let baseURL: String
  let environment: StoreEnvironment
  let verifier: any StoreEvidenceVerifier
  let clock: LedgerClock
  private let client: HTTPClient

  /// - Parameters:
  ///   - baseURL: Nil: Apple's own, of the environment.
  ///   - rate: Requests a second; Apple allows 50 for most calls of an app.
  /// - Throws: `LedgerError` when the key is no P-256 key.
  public init(
    credentials: AppStoreCredentials, environment: StoreEnvironment, verifier: any StoreEvidenceVerifier,
    clock: LedgerClock = .system, baseURL: String? = nil, rate: Double = 20, retry: RetryPolicy = .init()
  ) throws(LedgerError) {
    let key: P256.Signing.PrivateKey
    do { key = try P256.Signing.PrivateKey(pemRepresentation: credentials.privateKey) } catch {
      throw LedgerError(
        .configuration, at: "apple.privateKey", "is no P-256 key in PEM form; use the .p8 file of App Store Connect")
    }
    self.environment = environment
    self.verifier = verifier
    self.clock = clock
    let host = environment == .sandbox ? "api.storekit-sandbox.itunes.apple.com" : "api.storekit.itunes.apple.com"
    self.baseURL = baseURL ?? "https://\(host)"
    let client = StoreRequests.client()
    self.client = client
    requests = StoreRequests(
      client: client, limiter: RequestPacer(rate: rate), retry: retry,
      authorization: { _ in
        // Made for each request: a signature costs less than remembering when the last one ends.
        "Bearer " + (try Self.token(credentials, key, seconds: clock.now() / 1000))
      },
      isRetryable: { AppStoreFailure.isRetryable(status: $0, body: $1) }, clock: clock)
  }

  public func shutdown() async throws { try await client.shutdown() }

  private static func token(
    _ credentials: AppStoreCredentials, _ key: P256.Signing.PrivateKey, seconds: Int64
  ) throws -> String {
    try WebToken.make(
      header: [("alg", .string("ES256")), ("kid", .string(credentials.keyID)), ("typ", .string("JWT"))],
      claims: [
        ("iss", .string(credentials.issuerID)), ("iat", .init(seconds)), ("exp", .init(seconds + 1200)),
        ("aud", .string("appstoreconnect-v1")), ("bid", .string(credentials.bundleID)),
      ],
      sign: { try key.signature(for: $0).rawRepresentation })
  }

  /// Verifies the pieces of a page and stores it.
  func store(
    _ pieces: [String], as kind: EvidenceKind, cursor: (name: String, value: String)?, in sink: any SnapshotSink,
    _ report: inout PullReport
  ) async throws {
    var page = SnapshotPage(evidence: [], cursor: cursor)
    for piece in pieces {
      let bytes = Array(piece.utf8)
      do {
        let content = try await verifier.verify(bytes, as: kind, context: .init(), at: clock.now(), trusted: false)
        page.evidence.append((bytes, content))
      } catch {
        report.refuse(error)
      }
    }
    if report.isHeld { page.cursor = nil }
    try sink.store(page)
    report.pages += 1
    report.pieces += page.evidence.count
  }
}
