/// A window of time that is being read page by page, and from when on there are windows without a hole. Milliseconds since 1970.
struct NotificationWindow {
  var start: Int64
  var end: Int64
  /// Nil before the first page and after the last.
  var page: String?
  /// Where the first of the windows began that follow each other up to this one.
  var first: Int64

  init(start: Int64, end: Int64, page: String?, first: Int64? = nil) {
    self.start = start
    self.end = end
    self.page = page
    self.first = first ?? start
  }

  /// The window to read now: one that was left in the middle is finished first, one that was finished says where the next begins.
  ///
  /// - Parameters:
  ///   - since: Where the first begins; if that is earlier than what was read so far, everything from there on is read again.
  ///   - kept: How long the store keeps what is asked for, in milliseconds.
  init(after left: Self?, since: Int64, until end: Int64, keptFor kept: Int64) {
    guard let left, since >= left.first else {
      self.init(start: since, end: end, page: nil)
      return
    }
    self = left.page != nil ? left : Self(start: max(left.end, end - kept), end: end, page: nil, first: left.first)
  }

  // MARK: The value of a cursor: `FIRST:START END PAGE`

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
