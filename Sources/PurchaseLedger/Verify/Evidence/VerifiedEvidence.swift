/// What verified evidence says.
public struct VerifiedEvidence: Sendable {
  public var kind: EvidenceKind
  public var store: Store
  /// Nil where evidence names none (Google's signed purchase, a voided list).
  public var environment: StoreEnvironment?
  /// The facts in it, each transaction and each of its states once; a notification has at most one, a receipt many.
  public var transactions: [StoreTransaction]
  public var notification: NotificationFact?
  public var renewal: RenewalFact?
  /// Hints of unsigned messages: what to ask the store about.
  public var lookups: [LookupHint]
  /// When the store said it; see `StoreTransaction.signedDate`.
  public var signedDate: Int64?
  /// Set when it verifies but must not be booked now.
  public var quarantine: Refusal?
  /// Product or token stood beside the bytes and not in them.
  public var isNamedBeside = false
  /// `sandbox`, `pending`, `partial-refund`, `no-transactions`, `unknown-type`, `look-up`: for the report.
  public var notes: [String]
  /// Decoded fields in the order of `inspect`, beyond those of the facts: names and printed values.
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
    signedDate: Int64? = nil, quarantine: Refusal? = nil, notes: [String] = [], details: [Detail] = []
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

  /// What a reader of the report has to know about a fact.
  mutating func addNotes(about fact: StoreTransaction) {
    if fact.environment == .sandbox { addNote("sandbox") }
    if fact.isPartiallyRefunded { addNote("partial-refund") }
  }

  mutating func addNote(_ note: String) {
    if !notes.contains(note) { notes.append(note) }
  }
}

/// A message of a store. Type and subtype stay raw: unknown ones are kept and acknowledged.
public struct NotificationFact: Sendable, Hashable {
  public var store: Store
  public var environment: StoreEnvironment?
  /// The store's id of the message: a redelivery has the same.
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

/// What Apple says about a subscription's future. The ledger books nothing of it: regions are not subscribed to.
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

/// Something to ask a store about.
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
