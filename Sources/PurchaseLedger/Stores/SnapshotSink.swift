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
  /// The store's feed that the page is of, what it lost before this page, and how the clocks differ.
  var feed: FeedNote?

  /// A page and the cursor behind it.
  package init(evidence: [(bytes: [UInt8], content: VerifiedEvidence)], cursor: (name: String, value: String)?) {
    self.evidence = evidence
    self.cursor = cursor
  }
}

/// What a page of a feed says beside its evidence.
struct FeedNote: Sendable {
  var store: Store
  var environment: StoreEnvironment
  /// What the store keeps no longer and nobody has read.
  var lost: LostWindow?
  /// How far this machine's clock is ahead of the store's, in milliseconds. Nil where the store told no time.
  var clockAhead: Int64?
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
  /// The time that the gap covers, where this pull found it.
  package var lost: LostWindow?
  /// How far this machine's clock is ahead of the store's, in milliseconds. Nil where the store told no time.
  package var clockAhead: Int64?
  /// Pieces that another configuration would accept.
  private var refusedByConfiguration = 0

  /// Whether the configuration rejects everything that the store answers: no piece verified. The cursor then stops
  /// before them, and the next pull requests them again. A few bad pieces among good ones hold nothing.
  package var isHeld: Bool { refusedByConfiguration > 0 && pieces == 0 }

  /// From when on this pull has read the store's list. Milliseconds since 1970.
  package var readFrom: Int64?
  /// Pieces that have left the quarantine.
  package var released = 0
  /// Whether somebody has to look at it: something was refused, or the feed has a gap.
  package var needsPerson: Bool { !refusals.isEmpty || isWindowLost }

  /// What the last page states.
  package var facts: [StoreTransaction] = []
  /// Whether it says that a payment is awaited, so that there will be another answer.
  var isPending = false

  /// Nothing pulled yet.
  package init() {}

  /// Adds a rejected piece. What the store answers about another app of the developer is that app's: the question
  /// named ours.
  mutating func refuse(_ refusal: VerificationError) {
    refusals.append(refusal)
    if refusal.code.isOfConfiguration, ![.wrongBundle, .wrongPackage].contains(refusal.code) {
      refusedByConfiguration += 1
    }
  }

  mutating func add(_ other: PullReport) {
    pages += other.pages
    pieces += other.pieces
    refusals += other.refusals
    refusedByConfiguration += other.refusedByConfiguration
    isWindowLost = isWindowLost || other.isWindowLost
    lost = lost ?? other.lost
    clockAhead = other.clockAhead ?? clockAhead
    readFrom = readFrom ?? other.readFrom
  }
}
