/// Where a store's client puts what it fetched, page by page; the snapshot of the ledger is one.
public protocol SnapshotSink: Sendable {
  /// Stores a page and the place to go on from in one transaction: after a crash both are there or neither.
  func store(_ page: SnapshotPage) throws

  /// The place that a client stored last, and when, in milliseconds since 1970.
  func cursor(_ name: String) throws -> (value: String, updatedAt: Int64)?
}

/// A page of a store's answer, verified.
public struct SnapshotPage: Sendable {
  public var evidence: [(bytes: [UInt8], content: VerifiedEvidence)]
  /// Name and value of the cursor behind this page; nil where there is nothing to go on from.
  public var cursor: (name: String, value: String)?

  public init(evidence: [(bytes: [UInt8], content: VerifiedEvidence)], cursor: (name: String, value: String)?) {
    self.evidence = evidence
    self.cursor = cursor
  }
}

/// What a pull brought.
public struct PullReport: Sendable {
  public var pages = 0
  /// Pieces that verified and went into the snapshot.
  public var pieces = 0
  /// Pieces that did not, with their reasons; the pages they came with count all the same.
  public var refusals: [Refusal] = []
  /// A feed has a hole: what happened in it must be asked for by itself.
  public var isWindowLost = false

  /// Something was refused that another configuration would take: the places to go on from stay before it, so that the next pull asks for it again.
  public var isHeld = false

  public init() {}

  /// Notes a refusal.
  mutating func refuse(_ refusal: Refusal) {
    refusals.append(refusal)
    if refusal.code.isOfConfiguration { isHeld = true }
  }
}

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
