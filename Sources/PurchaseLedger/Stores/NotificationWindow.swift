/// The cursor of a feed that is read in windows of time, page by page. Times are milliseconds since 1970.
struct NotificationWindow: Hashable {
  var start: Int64
  var end: Int64
  /// Nil before the first page and after the last.
  var page: String?
  /// The earliest time from which the feed was asked for, also where the store kept less.
  var first: Int64

  init(start: Int64, end: Int64, page: String?, first: Int64? = nil) {
    self.start = start
    self.end = end
    self.page = page
    self.first = first ?? start
  }

  /// Up to when the store has answered: pages of an unfinished window come in no order.
  var answeredTo: Int64 { page == nil ? end : start }

  // MARK: Stored form: `FIRST:START END PAGE`

  init?(_ text: String) {
    let parts = text.split(separator: " ", maxSplits: 2)
    let starts = parts.first?.split(separator: ":").map { Int64($0) } ?? []
    guard parts.count >= 2, (1...2).contains(starts.count), let first = starts[0], let start = starts[starts.count - 1],
      let end = Int64(parts[1])
    else { return nil }
    self.init(start: start, end: end, page: parts.count == 3 ? String(parts[2]) : nil, first: first)
  }

  var text: String { "\(first):\(start) \(end)" + (page.map { " \($0)" } ?? "") }
}

/// A time that the store's list covers no longer and that nobody has read. Milliseconds since 1970.
package struct LostWindow: Hashable, Sendable {
  package var from: Int64
  package var until: Int64

  init(from: Int64, until: Int64) { (self.from, self.until) = (from, until) }

  /// The stored form, `FROM UNTIL`. Earlier versions stored the start alone.
  init?(_ text: String) {
    let times = text.split(separator: " ").map { Int64($0) }
    guard (1...2).contains(times.count), let from = times[0], let until = times[times.count - 1] else { return nil }
    self.init(from: from, until: until)
  }

  var text: String { "\(from) \(until)" }

  func joined(_ other: LostWindow?) -> LostWindow {
    LostWindow(from: min(from, other?.from ?? from), until: max(until, other?.until ?? until))
  }
}

/// What a pull wants of a feed.
package enum FeedStart: Hashable, Sendable {
  /// Goes on behind the last window; the first covers 30 days.
  case next
  /// The same, and what is earlier if that was never asked for.
  case since(Int64)
  /// Reads everything from there on again.
  case again(Int64)

  /// The time from which everything is read again.
  package var again: Int64? { if case .again(let time) = self { time } else { nil } }

  var time: Int64? {
    switch self {
    case .next: nil
    case .since(let time), .again(let time): time
    }
  }
}

/// How long a store keeps a feed, and the next window of it. All times are by the store's clock.
struct FeedWindows {
  /// How long the store keeps the feed.
  var kept: Int64
  var settings = PullSettings()

  private static let firstSpan: Int64 = 30 * 86_400_000

  struct Plan {
    var window: NotificationWindow
    /// What the store does not keep any more.
    var lost: LostWindow?
  }

  /// - Parameters:
  ///   - left: The window that the last pull ended in.
  ///   - mayContinue: Whether the page token of an unfinished window is still good.
  func next(after left: NotificationWindow?, _ wanted: FeedStart, now: Int64, mayContinue: Bool = true) -> Plan {
    let (oldest, end) = (now - kept + settings.startMargin, now - settings.endMargin)
    guard let left, left.first <= end, left.start <= left.end else {
      return plan(from: wanted.time ?? max(oldest, now - Self.firstSpan), oldest, end, first: wanted.time)
    }
    if mayContinue, left.page != nil, left.start >= oldest, left.end <= now, !isEarlier(wanted, than: left) {
      return Plan(window: left)
    }
    // A window that ends in the future was made by a clock that was ahead; what the store had not reached is unread.
    // If even its start lies there, all since the first start is.
    let answered = left.end <= now ? left.answeredTo : left.start <= end ? left.start : left.first
    let first = min(wanted.time ?? left.first, left.first)
    if let time = wanted.time, time < left.first {
      var plan = plan(from: time, oldest, end, first: first)
      if let lost = plan.lost, answered >= lost.until { plan.lost?.until = min(left.first, lost.until) }
      return plan
    }
    var plan = plan(from: answered - (left.page == nil ? settings.overlap : 0), oldest, end, first: first)
    plan.lost = answered < plan.window.start ? LostWindow(from: answered, until: plan.window.start) : nil
    if case .again(let time) = wanted { plan.window.start = min(plan.window.start, max(time, oldest)) }
    return plan
  }

  private func isEarlier(_ wanted: FeedStart, than left: NotificationWindow) -> Bool {
    switch wanted {
    case .next: false
    case .since(let time): time < left.first
    case .again(let time): time < left.start
    }
  }

  private func plan(from wanted: Int64, _ oldest: Int64, _ end: Int64, first: Int64?) -> Plan {
    let start = max(wanted, oldest)
    return Plan(
      window: NotificationWindow(start: start, end: end, page: nil, first: first ?? start),
      lost: wanted < start ? LostWindow(from: wanted, until: start) : nil)
  }
}
