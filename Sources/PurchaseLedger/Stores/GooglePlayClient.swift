import AsyncHTTPClient
import Foundation

/// Asks the Android Publisher API about purchases. `shutdown` must be called at the end.
public final class GooglePlayClient: Sendable {
  let requests: StoreRequests
  let application: String
  let packageName: String
  let environment: StoreEnvironment
  let verifier: any StoreEvidenceVerifier
  let clock: LedgerClock
  private let client: HTTPClient

  /// - Parameters:
  ///   - environment: What evidence gets that names none: the ledger's.
  ///   - rate: Requests a second; Google's default quota is 50 (3,000 a minute).
  public init(
    packageName: String, credentials: GoogleCredentials, environment: StoreEnvironment,
    verifier: any StoreEvidenceVerifier, clock: LedgerClock = .system, baseURL: String? = nil, rate: Double = 20,
    retry: RetryPolicy = .init()
  ) throws(LedgerError) {
    self.packageName = packageName
    self.environment = environment
    self.verifier = verifier
    self.clock = clock
    let base = baseURL ?? "https://androidpublisher.googleapis.com"
    application = "\(base)/androidpublisher/v3/applications/\(StoreRequests.escape(packageName))"
    let client = StoreRequests.client()
    self.client = client
    let limiter = RateLimiter(rate: rate)
    let open = StoreRequests(client: client, limiter: limiter, retry: retry, authorization: { _ in nil }, clock: clock)
    let tokens = try GoogleTokens(credentials, requests: open, clock: clock)
    requests = StoreRequests(
      client: client, limiter: limiter, retry: retry,
      authorization: { try await tokens.authorization(isRefused: $0) }, clock: clock)
  }

  public func shutdown() async throws { try await client.shutdown() }

  /// The state of one purchase, put into the snapshot (`purchases.products.get`).
  public func pullProduct(_ productID: String, token: String, into sink: any SnapshotSink) async throws -> PullReport {
    var report = PullReport()
    let request = StoreRequests.Request(url: address(productID, token))
    let answer = try await requests.send(request) { _, value in
      value?["purchaseTimeMillis"] == nil ? nil : value
    }
    let context = EvidenceContext(
      productID: productID, purchaseToken: token, packageName: packageName, environment: environment)
    try await store(answer, as: .googleProduct, context, cursor: nil, in: sink, &report)
    return report
  }

  /// Tells Google that the purchase was delivered, which it otherwise refunds after three days. Asking twice is as asking once.
  public func acknowledge(_ productID: String, token: String) async throws {
    let request = StoreRequests.Request(
      method: "POST", url: address(productID, token) + ":acknowledge", contentType: "application/json",
      body: Array("{}".utf8))
    try await requests.send(request) { _, _ in () }
  }

  private func address(_ productID: String, _ token: String) -> String {
    "\(application)/purchases/products/\(StoreRequests.escape(productID))/tokens/\(StoreRequests.escape(token))"
  }

  /// Verifies an answer and stores it with its cursor.
  func store(
    _ answer: JSONValue, as kind: EvidenceKind, _ context: EvidenceContext, cursor: (name: String, value: String)?,
    in sink: any SnapshotSink, _ report: inout PullReport
  ) async throws {
    let bytes = Array(answer.text.utf8)
    var page = SnapshotPage(evidence: [], cursor: cursor)
    do {
      let content = try await verifier.verify(bytes, as: kind, context: context, at: clock.now(), trusted: false)
      page.evidence = [(bytes, content)]
    } catch {
      report.refuse(error)
    }
    if report.isHeld { page.cursor = nil }
    try sink.store(page)
    report.pages += 1
    report.pieces += page.evidence.count
  }
}

extension GooglePlayClient {
  /// Google keeps the list of voided purchases for 30 days.
  static let voidedWindow: Int64 = 30 * 86_400_000

  /// What was refunded, charged back or revoked since the last time, page by page.
  ///
  /// - Parameter since: Milliseconds since 1970, for the first time; later ones go on where the last one ended.
  /// - Returns: `isWindowLost` when the last time is more than 30 days ago: every active purchase must be asked for.
  /// - Throws: `LedgerError` with code `store`; pages before are stored with their place.
  public func pullVoided(since: Int64, into sink: any SnapshotSink) async throws -> PullReport {
    var report = PullReport()
    let name = "google.voided.\(environment)"
    let now = clock.now()
    // A window that was left in the middle is read to its end, as of when it began; what came since is left for the next time. One that has become older
    // than what is kept is not moved here: it has a hole.
    let last = try sink.cursor(name).flatMap { NotificationWindow($0.value) }
    let start = max(since, last?.first ?? since)
    var window = NotificationWindow(after: last, since: start, until: now, keptFor: now)
    if window.start < now - Self.voidedWindow {
      report.isWindowLost = true
      window = NotificationWindow(start: now - Self.voidedWindow + 60_000, end: now, page: nil)
    }
    var seen: Set<String> = []
    var hasRestarted = false
    while true {
      var url = "\(application)/purchases/voidedpurchases?startTime=\(window.start)&endTime=\(window.end)"
      url += "&type=0&maxResults=1000&includeQuantityBasedPartialRefund=true"
      if let page = window.page { url += "&token=\(StoreRequests.escape(page))" }
      let request = StoreRequests.Request(url: url)
      let others: Set<Int> = window.page == nil ? [] : [400]
      let answer = try await requests.send(request, others: others) { status, value -> JSONValue? in
        status == 400 ? .null : value?.members == nil ? nil : value
      }
      if answer == .null {
        guard !hasRestarted else {
          throw requests.failure(
            request, "refuses its own page token again and again; pages before are stored: run it again later")
        }
        hasRestarted = true
        // A page token that came too late: the same window from its beginning; what is stored already is stored again.
        window.page = nil
        seen = []
        continue
      }
      let next = answer["tokenPagination"]?["nextPageToken"]?.string ?? ""
      let moves = next.isEmpty || (seen.insert(next).inserted && next != window.page)
      window.page = next.isEmpty || !moves ? nil : next
      let context = EvidenceContext(packageName: packageName, environment: environment)
      try await store(
        answer, as: .googleVoided, context, cursor: moves ? (name, window.text) : nil, in: sink, &report)
      if next.isEmpty { return report }
      guard moves else {
        throw requests.failure(
          request, "gives the same page token again; stopped, pages before are stored: run it again later")
      }
    }
  }
}
