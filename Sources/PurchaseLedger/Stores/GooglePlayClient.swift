import AsyncHTTPClient
import Support
import Synchronization

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
  let settings: PullSettings
  private let client: StoreConnections
  /// Whether the current interface of purchases answers; assumed until it does not know what the old one knows.
  private let hasCurrentInterface = Mutex(true)

  /// A client of the Google Play Developer API for one app.
  ///
  /// - Parameters:
  ///   - environment: The environment of evidence that names none: the ledger's.
  ///   - rate: Requests per second. Google's default quota is 50 (3,000 per minute).
  package init(
    packageName: String, credentials: GoogleCredentials, environment: StoreEnvironment,
    verifier: any StoreEvidenceVerifier, clock: LedgerClock = .system, baseURL: String? = nil, rate: Double = 20,
    retry: RetryPolicy = .init(), isFirstApp: Bool = true,
    settings: PullSettings = .init()
  ) throws(LedgerError) {
    self.packageName = packageName
    otherApp = isFirstApp ? nil : packageName
    self.environment = environment
    self.verifier = verifier
    self.settings = settings
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

  /// Pulls the state of one purchase into a snapshot (``product(_:token:bought:ofSeveral:)``).
  package func pullProduct(
    _ productID: String?, token: String, bought: Int64? = nil, ofSeveral: Bool = false, into sink: any SnapshotSink
  ) async throws -> PullReport {
    var (page, report) = try await product(productID, token: token, bought: bought, ofSeveral: ofSeveral)
    report.facts = page.evidence.filter { $0.content.quarantine == nil }.flatMap(\.content.transactions)
    report.isPending = page.evidence.contains { $0.content.notes.contains("pending") }
    try sink.store(page)
    report.pages += 1
    report.pieces += page.evidence.count
    return report
  }

  /// The state of one purchase: `purchases.productsv2`, which answers about all products of an order. The old
  /// `purchases.products` is asked where that does not know the purchase, or says less: it has no time of a pending
  /// purchase, and of one without order not why nothing was paid.
  ///
  /// - Parameters:
  ///   - productID: Nil where only the token is known; the old interface is then not asked.
  ///   - bought: When it was bought, if that is known.
  ///   - ofSeveral: Whether the order has several products.
  func product(
    _ productID: String?, token: String, bought: Int64? = nil, ofSeveral: Bool = false
  ) async throws -> (SnapshotPage, PullReport) {
    var report = PullReport()
    var context = EvidenceContext(
      productID: productID, purchaseToken: token, packageName: packageName, environment: environment)
    context.purchaseDate = bought
    let isOnlyCurrent = ofSeveral || productID == nil
    var isMissing = false
    var current: [(bytes: [UInt8], content: VerifiedEvidence)]?
    if isOnlyCurrent || hasCurrentInterface.withLock(\.self) {
      let request = StoreRequests.Request(
        url: "\(application)/purchases/productsv2/tokens/\(StoreRequests.escape(token))")
      let answer = try await requests.send(
        request, passing: { status, _ in !isOnlyCurrent && [404, 501].contains(status) },
        accept: { status, value -> JSONValue? in
          if status >= 400 { return .null }
          return (value?["productLineItem"] ?? value?["purchaseTimeMillis"]) == nil ? nil : value
        })
      isMissing = answer == .null
      if !isMissing {
        let evidence = await verified(answer, as: .googleProduct, context, &report)
        let isComplete = evidence.first.map { !$0.content.transactions.isEmpty } ?? true
        if isOnlyCurrent || answer["productLineItem"] == nil || (isComplete && answer["orderId"] != nil) {
          return (SnapshotPage(evidence: evidence, cursor: nil), report)
        }
        current = evidence
      }
    }
    let request = StoreRequests.Request(url: address(productID ?? "", token))
    let answer = try await requests.send(
      request, passing: { status, _ in current != nil && [404, 410].contains(status) },
      accept: { status, value -> JSONValue? in
        if status >= 400 { return .null }
        return value?["purchaseTimeMillis"] == nil ? nil : value
      })
    if let current, answer == .null { return (SnapshotPage(evidence: current, cursor: nil), report) }
    if isMissing { hasCurrentInterface.withLock { $0 = false } }
    let evidence = await verified(answer, as: .googleProduct, context, &report)
    return (SnapshotPage(evidence: evidence, cursor: nil), report)
  }

  /// What was paid for purchases (`orders.batchGet`), with the tax and the buyer's country.
  ///
  /// - Parameter orders: At most 1,000 ids, each with the time of its purchase.
  /// - Throws: `LedgerError` with code `notInStore` if the store does not know one of them: it then answers nothing.
  func orders(_ orders: [(id: String, bought: Int64?)]) async throws -> (SnapshotPage, PullReport) {
    var report = PullReport()
    let query = orders.map { "orderIds=\(StoreRequests.escape($0.id))" }.joined(separator: "&")
    let answers = try await requests.send(StoreRequests.Request(url: "\(application)/orders:batchGet?\(query)")) {
      $1?["orders"]?.array
    }
    var evidence: [(bytes: [UInt8], content: VerifiedEvidence)] = []
    let dates = Dictionary(orders.map { ($0.id, $0.bought) }, uniquingKeysWith: { first, _ in first })
    for answer in answers {
      guard let id = answer["orderId"]?.identifier, let bought = dates[id] else { continue }
      var context = EvidenceContext(packageName: packageName, environment: environment)
      context.purchaseDate = bought
      evidence += await verified(answer, as: .googleOrder, context, &report)
    }
    return (SnapshotPage(evidence: evidence, cursor: nil), report)
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
