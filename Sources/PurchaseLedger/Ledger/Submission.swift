/// Evidence submitted to the ledger, optionally for an account.
public struct Submission: Sendable {
  /// The bytes, as the store's library or service returned them.
  public var evidence: [UInt8]
  /// The kind of evidence; nil to detect it from the bytes.
  public var kind: EvidenceKind?
  /// What unsigned evidence does not say itself: product, token, app.
  public var context: EvidenceContext
  /// For whom it is submitted; nil without a claim.
  public var account: AccountID?
  /// Whether a person requested it. An app's silent refresh never moves a grant between accounts.
  package var isExplicit: Bool
  /// How it arrived.
  public var channel: Channel
  /// When it was submitted first, and the last event before it was merged: a later claim of another account is not
  /// taken back. Nil for what is submitted now.
  var merged: (time: Int64, base: Int64)?
  /// The client's network, if nobody is signed in: the queries that the evidence requests count against it. The ledger
  /// stores 16 bits of its hash.
  public var origin: String?

  /// How the evidence arrived: for unsigned evidence an operator's import vouches, an app or a store's notification
  /// does not.
  public enum Channel: Sendable, Hashable {
    /// By the operator, who vouches for it.
    case operatorImport
    /// By an app.
    case app
    /// By a store's notification.
    case storeNotification
  }

  /// A submission; the kind of evidence is detected unless given.
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

/// The result of a submission, returned after the commit.
public struct Booking: Sendable {
  /// What became of it.
  public enum Outcome: String, Sendable, Codable {
    /// Verified, committed, and new.
    case accepted
    /// Committed earlier.
    case duplicate
    /// Kept, but it must wait.
    case quarantined
    /// Not recorded.
    case refused
  }

  /// What became of the whole.
  public var outcome: Outcome
  /// The reason of a refusal or quarantine, or the first note with its explanation.
  public var reason: VerificationError?
  /// Codes of what is worth knowing of accepted evidence.
  package var notes: [String]
  /// The detected kind; nil if it was none.
  public var kind: EvidenceKind?
  /// Whose evidence it is; nil if it could not be read.
  public var store: Store?
  /// Production or sandbox; nil if it could not be read.
  public var environment: StoreEnvironment?
  /// The transactions of the evidence.
  public var transactions: [StoreTransaction]
  /// The result of each transaction, in the same order; empty if the evidence was refused or quarantined as a whole.
  public var results: [Result]
  /// The current entitlements of its grants, in the same order; empty in an import without account.
  public var entitlements: [Entitlement]

  /// What became of one transaction.
  public struct Result: Sendable, Hashable {
    /// What became of it.
    public var outcome: Outcome
    /// Why, where it was not simply accepted.
    public var reason: VerificationError?

    /// An outcome with its reason.
    package init(outcome: Outcome, reason: VerificationError?) {
      self.outcome = outcome
      self.reason = reason
    }
  }

  /// The result of a submission.
  package init(
    outcome: Outcome, reason: VerificationError? = nil, notes: [String] = [], kind: EvidenceKind? = nil,
    store: Store? = nil,
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

/// A verified submission with everything that can be computed without the database: digests, event bodies and keys.
/// Made outside the write lock.
///
/// A class, because batches of thousands are passed on and copying its many fields is slow.
package final class PreparedEvidence: Sendable {
  /// The submission without its evidence, which is in `prefix` and `rest`: tens of thousands of pieces wait for a
  /// commit, and most share one prefix.
  let submission: Submission
  let result: Result<VerifiedEvidence, VerificationError>
  /// SHA-256 of the evidence; empty if it was refused.
  let sha256: [UInt8]
  /// The header of a JWS, shared by many pieces.
  let prefix: [UInt8]
  /// The evidence after the prefix; empty if it will not be stored.
  let rest: [UInt8]
  let facts: [PreparedFact]
  /// The detected kind of refused evidence.
  let refusedKind: EvidenceKind?
  /// Whether all facts of the evidence are recorded already and no account claims them.
  let isBooked: Bool

  /// - Parameters:
  ///   - digest: The digest of the evidence, if it is computed already.
  ///   - known: As what the same bytes were accepted before.
  /// - Complexity: O(bytes of the evidence).
  package init(
    _ submission: Submission, _ result: Result<VerifiedEvidence, VerificationError>, digest: EvidenceDigest? = nil,
    known: KnownEvidence? = nil
  ) {
    var bytes = submission.evidence
    var digest = digest
    if case .success(let content) = result, content.kind == .notificationV1 {
      bytes = VersionOneSecret.blanked(bytes)
      digest = nil
    }
    var submission = submission
    submission.evidence = []
    self.submission = submission
    self.result = result
    refusedKind = if case .failure = result { submission.kind ?? EvidenceVerifier.detect(bytes) } else { nil }
    guard case .success(let content) = result else {
      (sha256, prefix, rest, facts, isBooked) = ([], [], [], [], false)
      return
    }
    let knownDigest = digest ?? EvidenceDigest(bytes)
    (sha256, prefix) = (knownDigest.sha256, knownDigest.prefix)
    isBooked = known?.isBooked == true && submission.account == nil && content.quarantine == nil
    if isBooked {
      (rest, facts) = ([], [])
      return
    }
    rest = prefix.isEmpty ? bytes : Array(bytes[prefix.count...])
    facts = content.transactions.compactMap {
      $0.environment.code == nil ? nil : PreparedFact($0, isKnown: known?.isBooked == true)
    }
  }
}

extension PreparedEvidence {
  /// The bytes of evidence that is not recorded yet.
  package var evidence: [UInt8] { prefix + rest }

  /// Whether the form of its signature is unknown.
  package var isUnreadable: Bool {
    if case .success(let content) = result, let reason = content.quarantine {
      VerificationError.Code.ofForm.contains(reason.code)
    } else {
      false
    }
  }

  /// Whether it is for the quarantine.
  var isWaiting: Bool { if case .success(let content) = result { content.quarantine != nil } else { false } }

  /// The transactions that the evidence names.
  fileprivate var names: [RowKey] {
    guard case .success(let content) = result else { return [] }
    return facts.map(\.row.key) + [content.notification?.transaction].compactMap { $0.flatMap { RowKey($0) } }
  }
}

/// What is known of evidence whose signature was verified before.
package struct KnownEvidence: Sendable, Hashable {
  package var kind: EvidenceKind
  /// Whether all facts of the evidence were recorded when it was stored. False for evidence that was only pulled and
  /// for kinds whose facts depend on the submission's context.
  package var isBooked: Bool
}

extension EvidenceStore {
  /// Stores a piece of evidence.
  ///
  /// - Parameter event: The first event recorded from it, by which the evidence is recognised later.
  mutating func keep(
    _ piece: PreparedEvidence, kind: EvidenceKind, outcome: Outcome, reason: String? = nil, event: Int64? = nil
  ) throws {
    try keep(
      EvidenceRow(
        sha256: piece.sha256, kind: Int64(kind.rawValue), outcome: outcome.rawValue, reason: reason,
        prefix: piece.prefix, rest: piece.rest, names: outcome == .quarantined ? piece.names : []),
      event: event)
  }
}
