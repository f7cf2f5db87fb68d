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
  /// The app that Apple is asked about.
  let app: String
  /// The same where it is not the ledger's first app, whose list of changes has no name of its own.
  let otherApp: String?
  private let settings: PullSettings
  private let client: StoreConnections

  /// A client of the App Store Server API for one environment.
  ///
  /// - Parameters:
  ///   - baseURL: Nil for Apple's server of the environment.
  ///   - rate: Requests per second. Apple allows 50 per app for most calls.
  /// - Throws: `LedgerError` if the key is not a P-256 key.
  package init(
    credentials: AppStoreCredentials, environment: StoreEnvironment, verifier: any StoreEvidenceVerifier,
    clock: LedgerClock = .system, baseURL: String? = nil, rate: Double = 20, retry: RetryPolicy = .init(),
    isFirstApp: Bool = true, settings: PullSettings = .init()
  ) throws(LedgerError) {
    app = credentials.bundleID
    otherApp = isFirstApp ? nil : credentials.bundleID
    let key: P256.Signing.PrivateKey
    do { key = try P256.Signing.PrivateKey(pemRepresentation: credentials.privateKey) } catch {
      throw LedgerError(
        .configuration, at: "apple.privateKey", "is no P-256 key in PEM form",
        remedy: "use the .p8 file of App Store Connect")
    }
    self.environment = environment
    self.verifier = verifier
    self.settings = settings
    let host = environment == .sandbox ? "api.storekit-sandbox.apple.com" : "api.storekit.apple.com"
    self.baseURL = try StoreRequests.checked(baseURL ?? "https://\(host)", option: "apple.baseUrl")
    let client = StoreConnections()
    self.client = client
    let storeClock = StoreClock(clock)
    requests = StoreRequests(
      client: client, limiter: RequestPacer(rate: rate), retry: retry,
      authorization: { _ in
        // Signed for each request, which is simpler than tracking when a token expires.
        "Bearer " + (try Self.token(credentials, key, seconds: storeClock.now / 1000))
      },
      isRetryable: { AppStoreFailure.isRetryable(status: $0, body: $1) },
      key: .init(
        name: "the key \(credentials.keyID) of the issuer \(credentials.issuerID)",
        hint: """
          check apple.keyId, apple.issuerId and bundleId; a new key takes a while, and production knows no app \
          before its first release
          """),
      clock: storeClock)
  }

  /// Closes the connections.
  package func shutdown() async throws { try await client.http.shutdown() }

  private static func token(
    _ credentials: AppStoreCredentials, _ key: P256.Signing.PrivateKey, seconds: Int64
  ) throws -> String {
    // Backdated by a minute: a clock that is a second ahead would be refused. Apple takes an hour at most.
    let seconds = seconds - 60
    return try WebToken.make(
      header: [("alg", .string("ES256")), ("kid", .string(credentials.keyID)), ("typ", .string("JWT"))],
      claims: [
        ("iss", .string(credentials.issuerID)), ("iat", .init(seconds)), ("exp", .init(seconds + 1200)),
        ("aud", .string("appstoreconnect-v1")), ("bid", .string(credentials.bundleID)),
      ],
      sign: { try key.signature(for: $0).rawRepresentation })
  }

  /// Verifies the pieces of a page.
  func verified(
    _ pieces: [String], as kind: EvidenceKind, _ report: inout PullReport
  ) async -> [(bytes: [UInt8], content: VerifiedEvidence)] {
    var evidence: [(bytes: [UInt8], content: VerifiedEvidence)] = []
    for piece in pieces {
      let bytes = Array(piece.utf8)
      do {
        let time = requests.clock.now
        evidence.append((bytes, try await verifier.verify(bytes, as: kind, context: .init(), at: time, trusted: false)))
      } catch {
        report.refuse(error)
        guard VerificationError.Code.ofForm.contains(error.code) else { continue }
        // Kept in quarantine with its bytes: a later version may read it.
        evidence.append((bytes, VerifiedEvidence(kind: kind, store: .apple, environment: nil, quarantine: error)))
      }
    }
    return evidence
  }
}

extension AppStoreClient {
  /// Pulls a customer's transactions of this app from the stored revision on, oldest change first.
  ///
  /// - Parameters:
  ///   - transactionID: Any transaction of that customer.
  ///   - again: Reads the whole history again.
  /// - Throws: `LedgerError` with code `store`. Earlier pages stay stored with their revision.
  package func pullHistory(of transactionID: String, again: Bool = false, into sink: any SnapshotSink) async throws
    -> PullReport
  {
    try await pullRevisions(
      "history", "/inApps/v2/history/\(StoreRequests.escape(transactionID))", query: "sort=ASCENDING&", transactionID,
      again: again, sink)
  }

  /// One transaction as Apple signs it now.
  func transaction(_ id: String) async throws -> SnapshotPage {
    var report = PullReport()
    let request = StoreRequests.Request(url: "\(baseURL)/inApps/v1/transactions/\(StoreRequests.escape(id))")
    let answer = try await requests.send(request) { $1?["signedTransactionInfo"]?.string }
    return SnapshotPage(evidence: await verified([answer], as: .transaction, &report), cursor: nil)
  }

  /// Pulls a customer's refunded transactions.
  package func pullRefunds(of transactionID: String, again: Bool = false, into sink: any SnapshotSink) async throws
    -> PullReport
  {
    try await pullRevisions(
      "refunds", "/inApps/v2/refund/lookup/\(StoreRequests.escape(transactionID))", query: "", transactionID,
      again: again, sink)
  }

  /// Pulls the notifications that Apple sent, or tried to send, since the last pull.
  ///
  /// - Returns: A report with `isWindowLost` if Apple no longer covers everything since the last pull. Every customer
  ///   must then be queried.
  package func pullNotifications(_ wanted: FeedStart = .next, into sink: any SnapshotSink) async throws -> PullReport {
    let feed = StoreFeed(
      store: .apple, environment: environment, app: otherApp, requests: requests, settings: settings,
      request: { [baseURL] window in
        let page = window.page.map { "?paginationToken=\(StoreRequests.escape($0))" } ?? ""
        let body = "{\"startDate\":\(window.start),\"endDate\":\(window.end)}"
        return StoreRequests.Request(
          method: "POST", url: "\(baseURL)/inApps/v1/notifications/history\(page)", contentType: "application/json",
          body: Array(body.utf8))
      },
      isPage: { $0["notificationHistory"]?.array != nil },
      next: { $0["hasMore"]?.bool ?? false ? $0["paginationToken"]?.string ?? "" : nil },
      isStartRefused: { AppStoreFailure.code($0) == AppStoreFailure.startTooOld },
      verify: { [self] answer, report in
        let pieces = (answer["notificationHistory"]?.array ?? []).compactMap { $0["signedPayload"]?.string }
        return await verified(pieces, as: .notification, &report)
      })
    return try await feed.pull(wanted, into: sink)
  }

  private func pullRevisions(
    _ what: String, _ path: String, query: String, _ id: String, again: Bool, _ sink: any SnapshotSink
  ) async throws -> PullReport {
    var report = PullReport()
    let name = "apple.\(what).\(environment).\(id)"
    var revision = again ? nil : try sink.cursor(name)?.value
    var seen = Set([revision].compactMap { $0 })
    // A revision of an earlier pull that the store refuses, or that leads nowhere, is given up once.
    var mayRestart = revision != nil
    while true {
      let page = revision.map { "revision=\(StoreRequests.escape($0))" } ?? ""
      let request = StoreRequests.Request(url: "\(baseURL)\(path)?\(query)\(page)")
      // `{}` is not an empty history, which has `hasMore`.
      let answer = try await requests.send(
        request,
        passing: { [mayRestart] in
          mayRestart && $0 == 400 && AppStoreFailure.code($1) == AppStoreFailure.invalidRevision
        },
        accept: { status, value -> JSONValue? in
          if status == 400 { return .null }
          return value?["signedTransactions"]?.array == nil || value?["hasMore"]?.bool == nil ? nil : value
        })
      if answer != .null {
        let pieces = (answer["signedTransactions"]?.array ?? []).compactMap { $0.string }
        let hasMore = answer["hasMore"]?.bool ?? false
        let next = answer["revision"]?.string ?? ""
        let moves = !next.isEmpty && seen.insert(next).inserted
        let evidence = await verified(pieces, as: .transaction, &report)
        report.pieces += evidence.count
        report.pages += 1
        try sink.store(SnapshotPage(evidence: evidence, cursor: moves && !report.isHeld ? (name, next) : nil))
        guard hasMore else { return report }
        if moves {
          (revision, mayRestart) = (next, false)
          continue
        }
        guard mayRestart else { throw noProgress(request, "revision") }
      }
      (revision, seen, mayRestart) = (nil, [], false)
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
  /// The revision is none, or none any more.
  static let invalidRevision: Int64 = 4_000_005
  /// The start of a window is older than what Apple keeps.
  static let startTooOld: Int64 = 4_000_012

  static func code(_ body: JSONValue?) -> Int64? { body?["errorCode"]?.integer }

  /// The codes that Apple documents as retryable: account, app or transaction temporarily not found, rate limit,
  /// temporary internal error.
  private static let retryableCodes: Set<Int64> = [4_040_002, 4_040_004, 4_040_006, 4_290_000, 5_000_001]

  /// Whether to retry. A known code decides, otherwise the status. 401 is retried, because a new key takes time to
  /// become active and clocks may differ.
  static func isRetryable(status: Int, body: JSONValue?) -> Bool {
    if let code = code(body) {
      if retryableCodes.contains(code) { return true }
      // GeneralInternalError is permanent; GeneralInternalRetryableError is 5000001.
      if code == 5_000_000 { return false }
    }
    return [401, 408, 429].contains(status) || status >= 500
  }
}
