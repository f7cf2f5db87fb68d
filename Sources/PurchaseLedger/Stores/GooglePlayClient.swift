import AsyncHTTPClient
import Support

/// Client of the Android Publisher API: verifies the responses and stores them in a snapshot. `shutdown`
/// waits until the connections are closed; they are too where the client is let go.
package final class GooglePlayClient: Sendable {
  let requests: StoreRequests
  let application: String
  let packageName: String
  /// The same where it is not the ledger's first app, whose list of changes has no name of its own.
  let otherApp: String?
  let environment: StoreEnvironment
  let verifier: any StoreEvidenceVerifier
  private let client: StoreConnections

  /// A client of the Google Play Developer API for one app.
  ///
  /// - Parameters:
  ///   - environment: The environment of evidence that names none: the ledger's.
  ///   - rate: Requests per second. Google's default quota is 50 (3,000 per minute).
  package init(
    packageName: String, credentials: GoogleCredentials, environment: StoreEnvironment,
    verifier: any StoreEvidenceVerifier, clock: LedgerClock = .system, baseURL: String? = nil, rate: Double = 20,
    retry: RetryPolicy = .init(), isFirstApp: Bool = true
  ) throws(LedgerError) {
    self.packageName = packageName
    otherApp = isFirstApp ? nil : packageName
    self.environment = environment
    self.verifier = verifier
    let base = try StoreRequests.checked(
      baseURL ?? "https://androidpublisher.googleapis.com", option: "google.baseUrl")
    if case .serviceAccount(_, _, let uri) = credentials {
      _ = try StoreRequests.checked(uri, option: "token_uri of google.serviceAccount")
    }
    application = "\(base)/androidpublisher/v3/applications/\(StoreRequests.escape(packageName))"
    let client = StoreConnections()
    self.client = client
    let limiter = RequestPacer(rate: rate)
    let storeClock = StoreClock(clock)
    let open = StoreRequests(
      client: client, limiter: limiter, retry: retry, authorization: { _ in nil }, key: credentials.key,
      clock: storeClock)
    let tokens = try GoogleTokens(credentials, requests: open)
    requests = StoreRequests(
      client: client, limiter: limiter, retry: retry,
      authorization: { try await tokens.authorization(isRefused: $0) }, key: credentials.key, clock: storeClock)
  }

  /// Closes the connections.
  package func shutdown() async throws { try await client.http.shutdown() }

  /// Pulls the state of one purchase (`purchases.products.get`).
  ///
  /// - Parameter ofSeveral: Whether the order has several products: `purchases.productsv2` answers about all of them.
  package func pullProduct(
    _ productID: String, token: String, ofSeveral: Bool = false, into sink: any SnapshotSink
  ) async throws -> PullReport {
    var report = PullReport()
    let request = StoreRequests.Request(
      url: ofSeveral
        ? "\(application)/purchases/productsv2/tokens/\(StoreRequests.escape(token))" : address(productID, token))
    let answer = try await requests.send(request) { _, value in
      value?[ofSeveral ? "productLineItem" : "purchaseTimeMillis"] == nil ? nil : value
    }
    let context = EvidenceContext(
      productID: productID, purchaseToken: token, packageName: packageName, environment: environment)
    let evidence = await verified(answer, as: .googleProduct, context, &report)
    if let content = evidence.first?.content, content.quarantine == nil { report.facts = content.transactions }
    try sink.store(SnapshotPage(evidence: evidence, cursor: nil))
    report.pages += 1
    report.pieces += evidence.count
    return report
  }

  /// Acknowledges a purchase, which Google otherwise refunds after three days. Idempotent.
  package func acknowledge(_ productID: String, token: String, isSubscription: Bool = false) async throws {
    let request = StoreRequests.Request(
      method: "POST", url: address(productID, token, isSubscription: isSubscription) + ":acknowledge",
      contentType: "application/json", body: Array("{}".utf8))
    try await requests.send(request) { _, _ in () }
  }

  /// Google keeps subscriptions and other products at different addresses, and knows none at the other's.
  private func address(_ productID: String, _ token: String, isSubscription: Bool = false) -> String {
    "\(application)/purchases/\(isSubscription ? "subscriptions" : "products")/\(StoreRequests.escape(productID))"
      + "/tokens/\(StoreRequests.escape(token))"
  }

  /// Verifies a response; none for one that is refused.
  func verified(
    _ answer: JSONValue, as kind: EvidenceKind, _ context: EvidenceContext, _ report: inout PullReport
  ) async -> [(bytes: [UInt8], content: VerifiedEvidence)] {
    let bytes = Array(answer.text.utf8)
    do {
      let time = requests.clock.now
      return [(bytes, try await verifier.verify(bytes, as: kind, context: context, at: time, trusted: false))]
    } catch {
      report.refuse(error)
      return []
    }
  }
}
