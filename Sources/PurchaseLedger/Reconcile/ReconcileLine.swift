/// One difference between the two books, and what to do about it.
public struct ReconcileLine: Sendable, Hashable {
  /// How a transaction stands in one of the books.
  public struct Side: Sendable, Hashable {
    public var productID: String?
    public var originalTransactionID: String
    public var statement: Statement
    public var signedDate: Int64
    public var revocation: Revocation?
    public var price: Money?
    public var token: AccountToken?
  }

  public var `class`: ReconcileClass
  /// Nil for evidence in quarantine that names none.
  public var transaction: TransactionKey?
  /// The store's book.
  public var theirs: Side?
  /// Our book.
  public var ours: Side?
  /// Who owns our grant.
  public var owner: AccountID?
  /// Whom the store names, where that is another account of ours.
  public var claimant: AccountID?
  /// Of evidence in quarantine: the reason's code and the digest.
  public var quarantine: String?
  /// Of what is in both books: the fields that differ.
  public var differences: [FieldDifference] = []
  /// Of what is in both books: whether ours was said later, so that nothing of the store's would be booked.
  public internal(set) var isKept = false
  /// Of what is in both books: whether the books agree once the store's facts are booked.
  var isSettled = true
  /// Of what is in both books: whether all that differs is what ours says and the store's copy does not: nobody contradicts it, so there is nothing to settle.
  public var isUnstated: Bool { self.class == .stateDiffers && isKept && isSettled }
  /// Whether `--apply` booked it in this run.
  public var isApplied: Bool

  init(_ kind: ReconcileClass, _ transaction: TransactionKey?) {
    self.class = kind
    self.transaction = transaction
    isApplied = false
  }

  /// What to do, in a few words.
  public var remedy: String {
    switch self.class {
    case .matched: "nothing"
    case .storeOnly: isApplied ? "booked" : "book it: run reconcile --apply"
    case .stateDiffers: stateRemedy
    case .ownOnly: "ask the store for it by its id; absence alone revokes nothing"
    case .accountConflict: "decide whose it is; import the store's evidence to follow the store"
    case .quarantined: "import it again once the reason is gone, or dismiss it"
    }
  }

  private var stateRemedy: String {
    if isUnstated { return "nothing: the store's copy does not state it, and contradicts nothing" }
    let kept =
      "ours was said later or more surely: nothing to book; compare with a fresh export, reconcile --store FILE"
    if isKept { return kept }
    guard isApplied else { return "take over the store's state: run reconcile --apply" }
    return isSettled ? "booked" : "booked in part; \(kept)"
  }
}

extension ReconcileLine.Side {
  init(_ row: TransactionRow) {
    productID = row.productID.isEmpty ? nil : row.productID
    originalTransactionID = row.originalID
    statement = row.statement
    signedDate = row.signedDate
    revocation = row.refund
    price = row.price
    token = row.token.map(AccountToken.init)
  }
}

/// What a reconciliation found, in numbers.
public struct ReconcileReport: Sendable, Hashable {
  /// Transactions by class.
  public internal(set) var counts: [ReconcileClass: Int] = [:]
  /// Of the matched: where the store's copy is the older one.
  public internal(set) var staleSnapshots = 0
  /// Of those in both books: what contradicts ours still after all was booked that could be, ours being the later.
  public internal(set) var kept = 0
  /// Of those in both books: what ours says and the store's copy does not, which is no contradiction and settles nothing.
  public internal(set) var unstated = 0
  /// Pieces of the store's export that could not be read, of which nothing is known.
  public internal(set) var unread = 0
  /// Corrective events booked in this run.
  public internal(set) var applied = 0
  /// Transactions of ours outside what was asked of the store, or bought since.
  public internal(set) var notPulled = 0
  /// When Google's voided list was read last, if that is too long ago to be without a hole.
  public internal(set) var windowLostSince: Int64?
  /// Stores and environments that were compared.
  public internal(set) var scopes: [Scope] = []

  public struct Scope: Sendable, Hashable {
    public var store: Store
    public var environment: StoreEnvironment
    /// When the store was asked for all of its deals, in milliseconds since 1970: of those bought until then, what the snapshot lacks is own-only. Nil if
    /// it never was.
    public var coveredAt: Int64?
  }

  public subscript(kind: ReconcileClass) -> Int { counts[kind] ?? 0 }

  /// Of `applied`: what contradicts ours still.
  var unsettled = 0

  /// Differences that are left after this run.
  public var remaining: Int {
    self[.storeOnly] + self[.stateDiffers] - unstated - applied + unsettled + self[.ownOnly] + self[.accountConflict]
      + self[.quarantined]
  }

  /// Something was compared, all of it, and nothing is left to do.
  public var isAgreed: Bool { !scopes.isEmpty && remaining == 0 && unread == 0 && windowLostSince == nil }

  mutating func count(_ kind: ReconcileClass, _ number: Int = 1) { counts[kind, default: 0] += number }
}
