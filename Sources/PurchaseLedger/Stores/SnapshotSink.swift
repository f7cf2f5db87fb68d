/// Receives the pages that a store's client fetches. The ledger's `Snapshot` conforms.
package protocol SnapshotSink: Sendable {
  /// Stores a page and the cursor behind it in one transaction, so that a crash keeps both or neither.
  func store(_ page: SnapshotPage) throws

  /// The cursor stored last, and when, in milliseconds since 1970.
  func cursor(_ name: String) throws -> (value: String, updatedAt: Int64)?
}

/// A page of a store's response, verified.
package struct SnapshotPage: Sendable {
  /// The pieces as they came, and what they state.
  package var evidence: [(bytes: [UInt8], content: VerifiedEvidence)]
  /// Name and value of the cursor behind this page. Nil leaves the stored cursor unchanged.
  package var cursor: (name: String, value: String)?

  /// A page and the cursor behind it.
  package init(evidence: [(bytes: [UInt8], content: VerifiedEvidence)], cursor: (name: String, value: String)?) {
    self.evidence = evidence
    self.cursor = cursor
  }
}

/// The result of a pull.
package struct PullReport: Sendable {
  /// The pages that were read.
  package var pages = 0
  /// Pieces that verified and were stored.
  package var pieces = 0
  /// Why pieces were rejected. Their pages count in `pages` all the same.
  package var refusals: [VerificationError] = []
  /// Whether the feed has a gap. Purchases must then be queried one by one.
  package var isWindowLost = false

  /// Whether a piece was rejected that another configuration would accept. The cursor then stops before it, and the
  /// next pull requests it again.
  package var isHeld = false

  /// Nothing pulled yet.
  package init() {}

  /// Adds a rejected piece.
  mutating func refuse(_ refusal: VerificationError) {
    refusals.append(refusal)
    if refusal.code.isOfConfiguration { isHeld = true }
  }
}

/// The cursor of a feed that is read in windows of time, page by page. Times are milliseconds since 1970.
struct NotificationWindow {
  var start: Int64
  var end: Int64
  /// Nil before the first page and after the last.
  var page: String?
  /// The start of the first window of the gapless sequence that ends with this one.
  var first: Int64

  init(start: Int64, end: Int64, page: String?, first: Int64? = nil) {
    self.start = start
    self.end = end
    self.page = page
    self.first = first ?? start
  }

  /// The window to read next: continues an unfinished window, otherwise starts where the finished one ended.
  ///
  /// - Parameters:
  ///   - left: The window that the last pull ended in.
  ///   - since: The start of the first window. If earlier than all windows so far, everything from there on is read
  ///     again.
  ///   - end: The end of the new window.
  ///   - kept: How long the store keeps the feed, in milliseconds.
  init(after left: Self?, since: Int64, until end: Int64, keptFor kept: Int64) {
    guard let left, since >= left.first else {
      self.init(start: since, end: end, page: nil)
      return
    }
    // A clock that was ahead made a window whose end no store had reached: it is read again.
    guard left.end <= end else {
      self.init(start: max(left.start, end - kept), end: end, page: nil, first: left.first)
      return
    }
    self = left.page != nil ? left : Self(start: max(left.end, end - kept), end: end, page: nil, first: left.first)
  }

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
