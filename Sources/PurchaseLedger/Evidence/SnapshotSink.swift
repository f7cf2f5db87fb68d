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
