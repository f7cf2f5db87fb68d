import Foundation
import Support

extension AppStoreClient {
  /// A customer's transactions of this app, from the stored revision on, the oldest change first.
  ///
  /// - Parameter transactionID: Any transaction of that customer.
  /// - Throws: `LedgerError` with code `store`; pages before are stored with their revision.
  public func pullHistory(of transactionID: String, into sink: any SnapshotSink) async throws -> PullReport {
    try await pullRevisions(
      "history", "/inApps/v2/history/\(Self.escape(transactionID))", query: "sort=ASCENDING&", transactionID, sink)
  }

  /// A customer's refunded transactions.
  public func pullRefunds(of transactionID: String, into sink: any SnapshotSink) async throws -> PullReport {
    try await pullRevisions(
      "refunds", "/inApps/v2/refund/lookup/\(Self.escape(transactionID))", query: "", transactionID, sink)
  }

  /// The messages that Apple sent, or tried to send, in a window of time.
  ///
  /// - Parameters:
  ///   - start: Milliseconds since 1970; Apple keeps 180 days. Later times go on where the last one ended, unless this is earlier than anything that
  ///     was asked for.
  ///   - end: Milliseconds since 1970.
  public func pullNotifications(from start: Int64, to end: Int64, into sink: any SnapshotSink) async throws
    -> PullReport
  {
    var report = PullReport()
    let name = "apple.notifications.\(environment)"
    let left = try sink.cursor(name).flatMap { NotificationWindow($0.value) }
    var current = NotificationWindow(after: left, since: start, until: end, keptFor: Self.notificationsKept)
    if current.start >= current.end { return report }
    var seen: Set<String> = []
    while true {
      let page = current.page.map { "?paginationToken=\(Self.escape($0))" } ?? ""
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

  /// Asks Apple to send a test notification to our server; returns the token to ask about it with.
  public func requestTestNotification() async throws -> String {
    let request = StoreRequests.Request(method: "POST", url: "\(baseURL)/inApps/v1/notifications/test")
    return try await requests.send(request) { _, value in value?["testNotificationToken"]?.string }
  }

  /// What became of a test notification: Apple's word for each attempt to send it.
  public func testNotificationStatus(_ token: String) async throws -> [String] {
    let request = StoreRequests.Request(url: "\(baseURL)/inApps/v1/notifications/test/\(Self.escape(token))")
    return try await requests.send(request) { _, value in
      value?["sendAttempts"]?.array?.compactMap { $0["sendAttemptResult"]?.string }
    }
  }

  private func pullRevisions(
    _ what: String, _ path: String, query: String, _ id: String, _ sink: any SnapshotSink
  ) async throws -> PullReport {
    var report = PullReport()
    let name = "apple.\(what).\(environment).\(id)"
    var revision = try sink.cursor(name)?.value
    var seen = Set([revision].compactMap { $0 })
    while true {
      let page = revision.map { "revision=\(Self.escape($0))" } ?? ""
      let request = StoreRequests.Request(url: "\(baseURL)\(path)?\(query)\(page)")
      // `{}` says nothing: it is no empty history, which has `hasMore`.
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
      "says there is more, but gives the same or an empty \(what); stopped, pages before are stored: run it again later"
    )
  }

  /// For one segment of a path or one value of a query. An id that is only dots would be a way up, and becomes none.
  static func escape(_ text: String) -> String {
    let plain = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
    let escaped = text.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
    return escaped.allSatisfy { $0 == "." } ? escaped.replacing(".", with: "%2E") : escaped
  }
}
