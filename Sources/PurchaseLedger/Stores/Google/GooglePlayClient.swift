import AsyncHTTPClient
import Foundation
import Support

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
    application = "\(base)/androidpublisher/v3/applications/\(AppStoreClient.escape(packageName))"
    let client = StoreRequests.client()
    self.client = client
    let limiter = RequestPacer(rate: rate)
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
    "\(application)/purchases/products/\(AppStoreClient.escape(productID))/tokens/\(AppStoreClient.escape(token))"
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
