/// What the snapshot holds of one transaction: the facts that joined are the join of all that came.
///
/// Nearly always one. More where none says everything: an answer without price beside a signed transaction with an older date, partial refunds of a purchase of
/// several pieces.
struct SnapshotFacts {
  struct Entry {
    var fact: PreparedFact
    /// SHA-256 of what it came by.
    var evidence: [UInt8]
  }

  /// Never empty.
  private(set) var entries: [Entry]
  /// All of them joined.
  private(set) var row: TransactionRow

  /// More facts than a store has reason to state are kept as they are, for none of them is then compared with all others.
  private static let comparedMax = 16
  private static let digestCount = 32

  init(_ fact: PreparedFact, evidence: [UInt8]) {
    entries = [Entry(fact: fact, evidence: evidence)]
    row = fact.row
  }

  /// Takes a fact in, and lets go of those that say nothing beside it; false if it says nothing itself.
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

  /// The facts' bodies, one after the other.
  var bodies: [UInt8] { entries.flatMap(\.fact.body) }
  /// The digests of their evidence, in the same order.
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
