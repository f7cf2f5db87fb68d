import Support

/// What Apple lets a seller ask and say of one purchase.
extension AppStoreClient {
  /// Looks up an order number that a customer reads out of Apple's receipt, and stores what Apple answers.
  ///
  /// - Returns: Its transactions; none for a number that Apple does not know, or of another app.
  package func pullOrder(_ id: String, into sink: any SnapshotSink) async throws -> PullReport {
    let answer = try await requests.send(
      StoreRequests.Request(url: "\(baseURL)/inApps/v1/lookup/\(StoreRequests.escape(id))")
    ) { _, value in value?["status"]?.integer == nil ? nil : value }
    let pieces = (answer["signedTransactions"]?.array ?? []).compactMap(\.string)
    return try await store(pieces, as: .transaction, into: sink)
  }

  /// Asks who has the app, and since which version (Get App Transaction Info).
  ///
  /// - Parameter transaction: Any transaction of the customer.
  package func pullAppTransaction(of transaction: String, into sink: any SnapshotSink) async throws -> PullReport {
    let path = "/inApps/v1/transactions/appTransactions/\(StoreRequests.escape(transaction))"
    let piece = try await requests.send(StoreRequests.Request(url: baseURL + path)) { _, value in
      value?["signedAppTransactionInfo"]?.string
    }
    return try await store([piece], as: .appTransaction, into: sink)
  }

  /// Sets the token of a purchase (Set App Account Token).
  ///
  /// - Parameter original: Its original transaction.
  package func setAppAccountToken(_ token: AccountToken, of original: String) async throws {
    try await put(
      "/inApps/v1/transactions/\(StoreRequests.escape(original))/appAccountToken",
      .object([.init("appAccountToken", .string(token.description))]))
  }

  /// Says that a purchase is delivered, where the app did not (Finish Transaction).
  package func finish(_ transaction: String) async throws {
    try await requests.send(
      StoreRequests.Request(
        method: "POST", url: "\(baseURL)/inApps/v1/transactions/\(StoreRequests.escape(transaction))/finish")
    ) { _, _ in () }
  }

  /// Answers a question about a refund (Send Consumption Information, version 2).
  package func answer(_ answer: RefundAnswer, about transaction: String) async throws {
    try await put("/inApps/v2/transactions/consumption/\(StoreRequests.escape(transaction))", answer.json)
  }

  private func put(_ path: String, _ body: JSONValue) async throws {
    try await requests.send(
      StoreRequests.Request(
        method: "PUT", url: baseURL + path, contentType: "application/json", body: body.bytes)
    ) { _, _ in () }
  }

  private func store(_ pieces: [String], as kind: EvidenceKind, into sink: any SnapshotSink) async throws -> PullReport
  {
    var report = PullReport()
    let evidence = await verified(pieces, as: kind, &report)
    report.facts = evidence.filter { $0.content.quarantine == nil }.flatMap(\.content.transactions)
    report.pieces = evidence.count
    report.pages = 1
    try sink.store(SnapshotPage(evidence: evidence, cursor: nil))
    return report
  }
}

extension [AppStoreClient] {
  /// Asks the apps one after the other until one knows the subject.
  package func asking<Value>(_ send: (AppStoreClient) async throws -> Value) async throws -> Value {
    for client in dropLast() {
      do { return try await send(client) } catch let error as LedgerError where error.code == .notInStore {}
    }
    guard let last else { throw LedgerError(.configuration, at: "bundleId", "is needed to ask Apple") }
    return try await send(last)
  }
}

/// What Apple is told about a purchase that a customer wants refunded. What is nil is not declared.
package struct RefundAnswer: Sendable, Hashable {
  /// What became of the delivery.
  package enum Delivery: String, Sendable, CaseIterable {
    case delivered = "DELIVERED"
    case quality = "UNDELIVERED_QUALITY_ISSUE"
    case wrongItem = "UNDELIVERED_WRONG_ITEM"
    case outage = "UNDELIVERED_SERVER_OUTAGE"
    case other = "UNDELIVERED_OTHER"
  }

  /// What the seller would like Apple to decide.
  package enum Preference: String, Sendable, CaseIterable {
    case decline = "DECLINE"
    case full = "GRANT_FULL"
    case prorated = "GRANT_PRORATED"
  }

  package var delivery: Delivery
  /// Whether a part of it could be tried before.
  package var sampleProvided: Bool
  /// In thousandths of a percent.
  package var consumedMilli: Int64?
  package var preference: Preference?

  package init(delivery: Delivery, sampleProvided: Bool, consumedMilli: Int64? = nil, preference: Preference? = nil) {
    self.delivery = delivery
    self.sampleProvided = sampleProvided
    self.consumedMilli = consumedMilli
    self.preference = preference
  }

  /// As Apple's ConsumptionRequest. The customer has consented: without that nothing is sent.
  package var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init("customerConsented", .bool(true)), .init("deliveryStatus", .string(delivery.rawValue)),
      .init("sampleContentProvided", .bool(sampleProvided)),
    ]
    if let consumedMilli { members.append(.init("consumptionPercentage", .init(consumedMilli))) }
    if let preference { members.append(.init("refundPreference", .string(preference.rawValue))) }
    return .object(members)
  }
}
