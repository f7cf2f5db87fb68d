/// A fact with its event's body and key and its row's digest, computed outside the write lock.
struct PreparedFact: Sendable {
  let transaction: StoreTransaction
  let row: TransactionRow
  /// The row's digest; nil if it is not computed yet.
  let digest: [UInt8]?
  let body: [UInt8]
  let key: EventKey

  init(_ transaction: StoreTransaction, isKnown: Bool = false) {
    self.transaction = transaction
    row = TransactionRow(transaction)
    digest = isKnown ? nil : row.digest
    var encoder = CanonicalEncoder()
    transaction.encodeBody(into: &encoder)
    body = encoder.bytes
    key = EventKey(type: .transaction, fields: body)
  }
}

/// The facts that the snapshot keeps of one transaction: their join equals the join of all facts received.
///
/// Nearly always one fact. Several are kept if none has all values: an answer without price beside a signed transaction
/// with an older date, partial refunds of a purchase of several items.
struct SnapshotFacts {
  struct Entry {
    var fact: PreparedFact
    /// SHA-256 of the fact's evidence.
    var evidence: [UInt8]
  }

  /// Never empty.
  private(set) var entries: [Entry]
  /// The join of all entries.
  private(set) var row: TransactionRow

  /// Above this number of facts redundant ones are no longer searched, which bounds the cost of comparing each with all
  /// others.
  private static let comparedMax = 16
  private static let digestCount = 32

  init(_ fact: PreparedFact, evidence: [UInt8]) {
    entries = [Entry(fact: fact, evidence: evidence)]
    row = fact.row
  }

  /// Adds a fact and drops facts that it makes redundant; false if the fact itself adds nothing.
  mutating func add(_ fact: PreparedFact, evidence: [UInt8]) -> Bool {
    var joined = row
    joined.join(fact.row)
    guard joined != row else { return false }
    row = joined
    entries.append(Entry(fact: fact, evidence: evidence))
    guard entries.count <= Self.comparedMax else { return true }
    for index in entries.indices.dropLast().reversed() {
      var others = entries
      others.remove(at: index)
      if Self.join(others) == joined { entries = others }
    }
    return true
  }

  private static func join(_ entries: [Entry]) -> TransactionRow {
    entries.dropFirst().reduce(into: entries[0].fact.row) { $0.join($1.fact.row) }
  }

  // MARK: Storage

  /// The facts' bodies, concatenated.
  var bodies: [UInt8] { entries.flatMap(\.fact.body) }
  /// The digests of their evidence, concatenated in the same order.
  var digests: [UInt8] { entries.flatMap(\.evidence) }

  /// - Throws: `CanonicalDecoder.Damaged`.
  init(bodies: [UInt8], digests: [UInt8]) throws {
    var decoder = CanonicalDecoder(bodies)
    var entries: [Entry] = []
    while !decoder.isAtEnd {
      let fact = PreparedFact(try StoreTransaction(from: &decoder))
      let evidence = digests.dropFirst(entries.count * Self.digestCount).prefix(Self.digestCount)
      entries.append(Entry(fact: fact, evidence: Array(evidence)))
    }
    guard !entries.isEmpty else { throw CanonicalDecoder.Damaged() }
    self.entries = entries
    row = Self.join(entries)
  }
}
