/// The result of verification: the facts in a piece of evidence.
public struct VerifiedEvidence: Sendable {
  public var kind: EvidenceKind
  public var store: Store
  /// Nil if the evidence names none, as in Google's signed purchases and voided lists.
  public var environment: StoreEnvironment?
  /// The transaction facts, without duplicates. A notification has at most one, a receipt many.
  public var transactions: [StoreTransaction]
  public var notification: NotificationFact?
  public var renewal: RenewalFact?
  /// Transactions to query the store about, taken from unsigned messages.
  public var lookups: [LookupHint]
  /// When the store signed or stated it; see `StoreTransaction.signedDate`.
  public var signedDate: Int64?
  /// Why the evidence, although it verifies, must not be recorded yet.
  public var quarantine: VerificationError?
  /// Whether the product or token comes from the context and not from the bytes.
  public var isNamedBeside = false
  /// Notes for the report: `sandbox`, `pending`, `partial-refund`, `no-transactions`, `unknown-type`, `look-up`.
  public var notes: [String]
  /// Decoded fields that the facts do not hold, in the order in which `inspect` prints them.
  public var details: [Detail]

  public struct Detail: Sendable, Hashable {
    public var name: String
    public var value: String

    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  public init(
    kind: EvidenceKind, store: Store, environment: StoreEnvironment?, transactions: [StoreTransaction] = [],
    notification: NotificationFact? = nil, renewal: RenewalFact? = nil, lookups: [LookupHint] = [],
    signedDate: Int64? = nil, quarantine: VerificationError? = nil, notes: [String] = [], details: [Detail] = []
  ) {
    self.kind = kind
    self.store = store
    self.environment = environment
    self.transactions = transactions
    self.notification = notification
    self.renewal = renewal
    self.lookups = lookups
    self.signedDate = signedDate
    self.quarantine = quarantine
    self.notes = notes
    self.details = details
  }

  /// Adds the notes that a fact calls for.
  mutating func addNotes(about fact: StoreTransaction) {
    if fact.environment == .sandbox { addNote("sandbox") }
    if fact.isPartiallyRefunded { addNote("partial-refund") }
  }

  mutating func addNote(_ note: String) {
    if !notes.contains(note) { notes.append(note) }
  }
}

/// A notification of a store. Type and subtype keep the store's text, so unknown ones are recorded and acknowledged.
public struct NotificationFact: Sendable, Hashable {
  public var store: Store
  public var environment: StoreEnvironment?
  /// The store's id of the notification. A redelivery has the same id.
  public var uuid: String
  public var type: String
  public var subtype: String?
  public var signedDate: Int64
  public var transaction: TransactionKey?

  public init(
    store: Store, environment: StoreEnvironment?, uuid: String, type: String, subtype: String?, signedDate: Int64,
    transaction: TransactionKey?
  ) {
    self.store = store
    self.environment = environment
    self.uuid = uuid
    self.type = type
    self.subtype = subtype
    self.signedDate = signedDate
    self.transaction = transaction
  }
}

/// Apple's renewal info of a subscription. The ledger records no transaction for it, because regions are not sold as
/// subscriptions.
public struct RenewalFact: Sendable, Hashable {
  public var environment: StoreEnvironment
  public var originalTransactionID: String?
  public var productID: String?
  public var signedDate: Int64

  public init(
    environment: StoreEnvironment, originalTransactionID: String?, productID: String?, signedDate: Int64
  ) {
    self.environment = environment
    self.originalTransactionID = originalTransactionID
    self.productID = productID
    self.signedDate = signedDate
  }
}

/// A transaction that the store should be queried about.
public struct LookupHint: Sendable, Hashable {
  public var key: TransactionKey
  public var productID: String?
  public var purchaseToken: String?

  public init(key: TransactionKey, productID: String?, purchaseToken: String?) {
    self.key = key
    self.productID = productID
    self.purchaseToken = purchaseToken
  }
}
