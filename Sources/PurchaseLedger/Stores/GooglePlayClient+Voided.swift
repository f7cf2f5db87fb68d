import Support

extension GooglePlayClient {
  /// How long Google keeps the list of voided purchases: 30 days.
  static let voidedWindow: Int64 = 30 * 86_400_000

  /// Pulls the purchases that were refunded, charged back or revoked since the last pull, page by page.
  ///
  /// - Parameter since: The start of the first pull, in milliseconds since 1970. Later pulls continue where the last
  ///   one ended.
  /// - Returns: A report with `isWindowLost` if the last pull is more than 30 days ago. Every active purchase must then
  ///   be queried.
  /// - Throws: `LedgerError` with code `store`. Earlier pages stay stored with their cursor.
  package func pullVoided(since: Int64, into sink: any SnapshotSink) async throws -> PullReport {
    var report = PullReport()
    let name = "google.voided.\(environment)"
    let now = clock.now()
    // An unfinished window is read to its original end; later entries are left for the next pull. `keptFor: now` keeps
    // its start even if that is older than what Google keeps, so that the gap is detected below.
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
            request, "rejects its own page token repeatedly",
            remedy: "run it again later: earlier pages are stored")
        }
        hasRestarted = true
        // The page token has expired: the window is read again from its start. Storing a page twice does no harm.
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
          request, "returns the same page token again", remedy: "run it again later: earlier pages are stored")
      }
    }
  }
}
