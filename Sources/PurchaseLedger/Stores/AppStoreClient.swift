import AsyncHTTPClient
import Crypto
import Support

/// The key and the app that requests to the App Store Server API are signed for.
package struct AppStoreCredentials: Sendable {
  /// The issuer id of App Store Connect.
  package var issuerID: String
  /// The id of the key.
  package var keyID: String
  /// The In-App Purchase key from App Store Connect (.p8), PEM.
  package var privateKey: String
  /// The app.
  package var bundleID: String

  /// A key and its app; the private key as PEM.
  package init(issuerID: String, keyID: String, privateKey: String, bundleID: String) {
    self.issuerID = issuerID
    self.keyID = keyID
    self.privateKey = privateKey
    self.bundleID = bundleID
  }
}

/// Client of the App Store Server API: verifies the responses and stores them in a snapshot.
///
/// Each page is stored together with its cursor, so an interrupted pull continues there. `shutdown` waits until the
/// connections are closed; they are too where the client is let go.
package final class AppStoreClient: Sendable {
  let requests: StoreRequests
  let baseURL: String
  let environment: StoreEnvironment
  let verifier: any StoreEvidenceVerifier
  let clock: LedgerClock
  private let client: StoreConnections

  /// A client of the App Store Server API for one environment.
  ///
  /// - Parameters:
  ///   - baseURL: Nil for Apple's server of the environment.
  ///   - rate: Requests per second. Apple allows 50 per app for most calls.
  /// - Throws: `LedgerError` if the key is not a P-256 key.
  package init(
    credentials: AppStoreCredentials, environment: StoreEnvironment, verifier: any StoreEvidenceVerifier,
    clock: LedgerClock = .system, baseURL: String? = nil, rate: Double = 20, retry: RetryPolicy = .init()
  ) throws(LedgerError) {
    let key: P256.Signing.PrivateKey
    do { key = try P256.Signing.PrivateKey(pemRepresentation: credentials.privateKey) } catch {
      throw LedgerError(
        .configuration, at: "apple.privateKey", "is no P-256 key in PEM form",
        remedy: "use the .p8 file of App Store Connect")
    }
    self.environment = environment
    self.verifier = verifier
    self.clock = clock
    let host = environment == .sandbox ? "api.storekit-sandbox.itunes.apple.com" : "api.storekit.itunes.apple.com"
    self.baseURL = try StoreRequests.checked(baseURL ?? "https://\(host)", option: "apple.baseUrl")
    let client = StoreConnections()
    self.client = client
    requests = StoreRequests(
      client: client, limiter: RequestPacer(rate: rate), retry: retry,
      authorization: { _ in
        // Signed for each request, which is simpler than tracking when a token expires.
        "Bearer " + (try Self.token(credentials, key, seconds: clock.now() / 1000))
      },
      isRetryable: { AppStoreFailure.isRetryable(status: $0, body: $1) }, clock: clock)
  }

  /// Closes the connections.
  package func shutdown() async throws { try await client.http.shutdown() }

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

  /// Verifies the pieces of a page and stores the page with its cursor.
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

extension AppStoreClient {
  /// Pulls a customer's transactions of this app from the stored revision on, oldest change first.
  ///
  /// - Parameter transactionID: Any transaction of that customer.
  /// - Throws: `LedgerError` with code `store`. Earlier pages stay stored with their revision.
  package func pullHistory(of transactionID: String, into sink: any SnapshotSink) async throws -> PullReport {
    try await pullRevisions(
      "history", "/inApps/v2/history/\(StoreRequests.escape(transactionID))", query: "sort=ASCENDING&", transactionID,
      sink)
  }

  /// Pulls a customer's refunded transactions.
  package func pullRefunds(of transactionID: String, into sink: any SnapshotSink) async throws -> PullReport {
    try await pullRevisions(
      "refunds", "/inApps/v2/refund/lookup/\(StoreRequests.escape(transactionID))", query: "", transactionID, sink)
  }

  /// Pulls the notifications that Apple sent, or tried to send, in a window of time.
  ///
  /// - Parameters:
  ///   - start: Milliseconds since 1970. Apple keeps 180 days. Later pulls continue where the last one ended, unless
  ///     `start` is earlier than every window so far.
  ///   - end: Milliseconds since 1970.
  package func pullNotifications(from start: Int64, to end: Int64, into sink: any SnapshotSink) async throws
    -> PullReport
  {
    var report = PullReport()
    let name = "apple.notifications.\(environment)"
    let left = try sink.cursor(name).flatMap { NotificationWindow($0.value) }
    var current = NotificationWindow(after: left, since: start, until: end, keptFor: Self.notificationsKept)
    if current.start >= current.end { return report }
    var seen: Set<String> = []
    while true {
      let page = current.page.map { "?paginationToken=\(StoreRequests.escape($0))" } ?? ""
      let body = "{\"startDate\":\(current.start),\"endDate\":\(current.end)}"
      let request = StoreRequests.Request(
        method: "POST", url: "\(baseURL)/inApps/v1/notifications/history\(page)", contentType: "application/json",
        body: Array(body.utf8))
      let answer = try await requests.send(request) { _, value in
        value?["notificationHistory"]?.array == nil ? nil : value
      }
      let pieces = (answer["notificationHistory"]?.array ?? []).compactMap { $0["signedPayload"]?.string }
      let next = answer["paginationToken"]?.string
      let hasMore = answer["hasMore"]?.bool ?? false
      let moves = next.map { !$0.isEmpty && seen.insert($0).inserted && $0 != current.page } ?? false
      current.page = hasMore && moves ? next : current.page
      if !hasMore { current.page = nil }
      try await store(
        pieces, as: .notification, cursor: hasMore && !moves ? nil : (name, current.text), in: sink, &report)
      guard hasMore else { return report }
      guard moves else { throw noProgress(request, "pagination token") }
    }
  }

  private static let notificationsKept: Int64 = 180 * 86_400_000

  private func pullRevisions(
    _ what: String, _ path: String, query: String, _ id: String, _ sink: any SnapshotSink
  ) async throws -> PullReport {
    var report = PullReport()
    let name = "apple.\(what).\(environment).\(id)"
    var revision = try sink.cursor(name)?.value
    var seen = Set([revision].compactMap { $0 })
    while true {
      let page = revision.map { "revision=\(StoreRequests.escape($0))" } ?? ""
      let request = StoreRequests.Request(url: "\(baseURL)\(path)?\(query)\(page)")
      // `{}` is not an empty history, which has `hasMore`.
      let answer = try await requests.send(request) { _, value in
        value?["signedTransactions"]?.array == nil || value?["hasMore"]?.bool == nil ? nil : value
      }
      let pieces = (answer["signedTransactions"]?.array ?? []).compactMap { $0.string }
      let hasMore = answer["hasMore"]?.bool ?? false
      let next = answer["revision"]?.string ?? ""
      let moves = !next.isEmpty && seen.insert(next).inserted
      try await store(pieces, as: .transaction, cursor: moves ? (name, next) : nil, in: sink, &report)
      guard hasMore else { return report }
      guard moves else { throw noProgress(request, "revision") }
      revision = next
    }
  }

  private func noProgress(_ request: StoreRequests.Request, _ what: String) -> LedgerError {
    requests.failure(
      request,
      "says that there is more, but returns the same or an empty \(what)",
      remedy: "run it again later: earlier pages are stored")
  }

}

/// Failures of the App Store Server API: `{"errorCode": ..., "errorMessage": ...}`.
enum AppStoreFailure {
  /// The codes that Apple documents as retryable: account, app or transaction temporarily not found, rate limit,
  /// temporary internal error.
  private static let retryableCodes: Set<Int64> = [4_040_002, 4_040_004, 4_040_006, 4_290_000, 5_000_001]

  /// Whether to retry. A known code decides, otherwise the status. 401 is retried, because a new key takes time to
  /// become active and clocks may differ.
  static func isRetryable(status: Int, body: JSONValue?) -> Bool {
    if let code = body?["errorCode"]?.integer {
      if retryableCodes.contains(code) { return true }
      // GeneralInternalError is permanent; GeneralInternalRetryableError is 5000001.
      if code == 5_000_000 { return false }
    }
    return [401, 408, 429].contains(status) || status >= 500
  }
}
