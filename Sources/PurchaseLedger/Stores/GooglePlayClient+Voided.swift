import Support

extension GooglePlayClient {
  /// Pulls the purchases that were refunded, charged back or revoked since the last pull, page by page.
  ///
  /// - Returns: A report with `isWindowLost` if Google no longer covers everything since the last pull. Every purchase
  ///   must then be queried.
  /// - Throws: `LedgerError` with code `store`. Earlier pages stay stored with their cursor.
  package func pullVoided(_ wanted: FeedStart = .next, into sink: any SnapshotSink) async throws -> PullReport {
    let feed = StoreFeed(
      store: .google, environment: environment, app: otherApp, requests: requests, settings: settings,
      request: { [application] window in
        var url = "\(application)/purchases/voidedpurchases?startTime=\(window.start)&endTime=\(window.end)"
        url += "&type=0&maxResults=1000&includeQuantityBasedPartialRefund=true"
        if let page = window.page { url += "&token=\(StoreRequests.escape(page))" }
        return StoreRequests.Request(url: url)
      },
      isPage: { $0.members != nil },
      next: { answer in
        let token = answer["tokenPagination"]?["nextPageToken"]?.string ?? ""
        return token.isEmpty ? nil : token
      },
      // Google has no code of its own for it.
      isStartRefused: { _ in true },
      verify: { [self] answer, report in
        let context = EvidenceContext(packageName: packageName, environment: environment)
        return await verified(answer, as: .googleVoided, context, &report)
      })
    return try await feed.pull(wanted, into: sink)
  }
}
