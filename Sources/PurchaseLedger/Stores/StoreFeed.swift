import Support

/// A list of a store that is read in windows of time, page by page: Apple's notifications, Google's voided purchases.
/// Each page is stored with its cursor, and every refusal of a token, a start or an end is answered by another window
/// in the same run.
struct StoreFeed: Sendable {
  var store: Store
  var environment: StoreEnvironment
  /// Another app than the ledger's first one; nil for that.
  var app: String?
  var requests: StoreRequests
  var settings: PullSettings
  /// The question for a page of a window.
  var request: @Sendable (NotificationWindow) -> StoreRequests.Request
  /// Whether an answer is a page of the list at all; others are asked for again.
  var isPage: @Sendable (JSONValue) -> Bool
  /// The token of the page behind this one; nil after the last.
  var next: @Sendable (JSONValue) -> String?
  /// Whether the store refuses the start as older than what it keeps.
  var isStartRefused: @Sendable (JSONValue?) -> Bool
  /// Verifies a page's pieces.
  var verify: @Sendable (JSONValue, inout PullReport) async -> [(bytes: [UInt8], content: VerifiedEvidence)]

  /// - Throws: `LedgerError` with code `store`. Earlier pages stay stored with their cursor.
  func pull(_ wanted: FeedStart, into sink: any SnapshotSink) async throws -> PullReport {
    var run = Run(feed: self, sink: sink, wanted: wanted)
    run.left = try sink.cursor(cursorName).flatMap { NotificationWindow($0.value) }
    let isContinued = try await run.readWindow()
    // An unfinished window ends in the past: what came since then is read in the same run.
    if isContinued {
      run.wanted = .next
      _ = try await run.readWindow()
    }
    run.report.clockAhead = requests.clock.ahead
    return run.report
  }

  var cursorName: String { store.feedCursor(in: environment, of: app) }

  private enum Answer {
    case page(JSONValue)
    case refused(JSONValue?)
  }

  private func ask(_ request: StoreRequests.Request) async throws -> Answer {
    try await requests.send(
      request, passing: { status, _ in status == 400 },
      accept: { status, value -> Answer? in
        if status == 400 { return .refused(value) }
        return value.flatMap { isPage($0) ? .page($0) : nil }
      })
  }

  private struct Run {
    let feed: StoreFeed
    let sink: any SnapshotSink
    var wanted: FeedStart
    var left: NotificationWindow?
    var report = PullReport()
    private var windows: FeedWindows
    private var lost: LostWindow?
    /// The difference of the clocks that the window was made with.
    private var ahead: Int64 = 0

    init(feed: StoreFeed, sink: any SnapshotSink, wanted: FeedStart) {
      (self.feed, self.sink, self.wanted) = (feed, sink, wanted)
      windows = FeedWindows(kept: feed.store.feedKept(in: feed.environment), settings: feed.settings)
    }

    private mutating func plan(mayContinue: Bool) throws -> NotificationWindow {
      ahead = feed.requests.clock.ahead ?? 0
      let now = feed.requests.clock.now
      let plan = windows.next(after: left, wanted, now: now, mayContinue: mayContinue)
      guard plan.window.start < plan.window.end else {
        throw LedgerError(
          .configuration, at: "the start of the window",
          "lies after the present of the store's clock, \(TimeText.minute(now))",
          remedy: "give an earlier time, or correct the clock")
      }
      lost = plan.lost
      return plan.window
    }

    /// Reads a window to its end.
    ///
    /// - Returns: Whether it was one that an earlier pull had left unfinished.
    mutating func readWindow() async throws -> Bool {
      var window = try plan(mayContinue: true)
      var isContinued = window.page != nil
      var seen: Set<String> = []
      var restarts = 0
      while true {
        let request = feed.request(window)
        let answer = try await feed.ask(request)
        let isDrifted = abs((feed.requests.clock.ahead ?? 0) - ahead) > StoreClock.tolerance
        var isRestarted = false
        switch answer {
        case .refused(let body):
          isRestarted = try refused(window, body, isDrifted: isDrifted)
          guard isRestarted, restarts < 16 else { throw feed.requests.refusal(request, 400, body) }
        case .page(let page):
          let next = feed.next(page)
          // The answer was to a window of the wrong clock.
          if isDrifted, window.page == nil || left?.page == window.page { isRestarted = restarts < 16 }
          if !isRestarted {
            let asked = window.page
            let moves = next.map { !$0.isEmpty && seen.insert($0).inserted && $0 != asked } ?? true
            if moves { window.page = next }
            try await store(page, behind: moves ? window : nil)
            if next == nil {
              left = window
              return isContinued
            }
            if !moves {
              // A token of an earlier pull that leads nowhere is given up.
              guard isContinued, restarts == 0 else {
                throw feed.requests.failure(
                  request, "says that there is more, but returns the same or an empty page token",
                  remedy: "run it again later: earlier pages are stored")
              }
              isRestarted = true
            }
          }
        }
        if isRestarted {
          restarts += 1
          seen = []
          let isTokenGood = window.page == nil || (isDrifted && isContinued)
          if !isTokenGood { left = window }
          window = try plan(mayContinue: isTokenGood)
          isContinued = window.page != nil
        }
      }
    }

    /// Whether another window may be accepted.
    private mutating func refused(_ window: NotificationWindow, _ body: JSONValue?, isDrifted: Bool) throws -> Bool {
      if isDrifted || window.page != nil { return true }
      // A store that keeps less than it says is believed.
      let isOld = window.start < feed.requests.clock.now - windows.kept / 4 * 3
      guard feed.isStartRefused(body), isOld, windows.kept > 86_400_000 else { return false }
      windows.kept = windows.kept / 6 * 5
      return true
    }

    private mutating func store(_ answer: JSONValue, behind window: NotificationWindow?) async throws {
      report.readFrom = report.readFrom ?? window?.start
      let before = report.pieces
      let evidence = await feed.verify(answer, &report)
      report.pieces = before + evidence.count
      report.pages += 1
      // Never beyond what the store has answered.
      var page = SnapshotPage(evidence: evidence, cursor: nil)
      if let window, !report.isHeld { page.cursor = (feed.cursorName, window.text) }
      page.feed = FeedNote(
        store: feed.store, environment: feed.environment, lost: lost, clockAhead: feed.requests.clock.ahead)
      try sink.store(page)
      if let lost {
        report.isWindowLost = true
        report.lost = lost.joined(report.lost)
      }
      lost = nil
    }
  }
}
