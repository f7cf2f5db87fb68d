/// Evidence handed to the ledger, for an account or for none.
public struct Submission: Sendable {
  public var evidence: [UInt8]
  /// Nil: found out from the bytes.
  public var kind: EvidenceKind?
  public var context: EvidenceContext
  public var account: AccountID?
  /// Whether a person asked for it. A silent refresh of an app never moves a grant between accounts.
  public var isExplicit: Bool
  public var channel: Channel
  /// The network that it came from, where nobody signed in: questions that it makes us ask are counted as that one's. Of it the ledger keeps 16 bits of a hash.
  public var origin: String?

  /// Who vouches for unsigned evidence: the operator does in an import, nobody does in what an app posts.
  public enum Channel: Sendable, Hashable { case operatorImport, app, storeNotification }

  public init(
    evidence: [UInt8], kind: EvidenceKind? = nil, context: EvidenceContext = .init(), account: AccountID? = nil,
    isExplicit: Bool = true, channel: Channel, origin: String? = nil
  ) {
    self.evidence = evidence
    self.kind = kind
    self.context = context
    self.account = account
    self.isExplicit = isExplicit
    self.channel = channel
    self.origin = origin
  }
}

/// What became of a submission; handed out after the commit.
public struct Booking: Sendable {
  public enum Outcome: String, Sendable, Codable { case accepted, duplicate, quarantined, refused }

  public var outcome: Outcome
  /// The refusal's or quarantine's code, or the first note; with its text.
  public var reason: Refusal?
  public var notes: [String]
  public var kind: EvidenceKind?
  public var store: Store?
  public var environment: StoreEnvironment?
  public var transactions: [StoreTransaction]
  /// What became of each transaction, in the same order; empty where the piece was refused or quarantined as a whole.
  public var results: [Result]
  /// The entitlements that its grants have now, in the same order; an import for no account does not look them up.
  public var entitlements: [Entitlement]

  public struct Result: Sendable, Hashable {
    public var outcome: Outcome
    public var reason: Refusal?

    public init(outcome: Outcome, reason: Refusal?) {
      self.outcome = outcome
      self.reason = reason
    }
  }

  public init(
    outcome: Outcome, reason: Refusal? = nil, notes: [String] = [], kind: EvidenceKind? = nil, store: Store? = nil,
    environment: StoreEnvironment? = nil, transactions: [StoreTransaction] = [], results: [Result] = [],
    entitlements: [Entitlement] = []
  ) {
    self.outcome = outcome
    self.reason = reason
    self.notes = notes
    self.kind = kind
    self.store = store
    self.environment = environment
    self.transactions = transactions
    self.results = results
    self.entitlements = entitlements
  }
}
