import Support

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
      if let page = window.page { url += "&token=\(AppStoreClient.escape(page))" }
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
