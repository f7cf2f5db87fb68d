/// The result of verification: the facts in a piece of evidence.
public struct VerifiedEvidence: Sendable {
  /// The kind of evidence.
  public var kind: EvidenceKind
  /// Whose evidence it is.
  public var store: Store
  /// Nil if the evidence names none, as in Google's signed purchases and voided lists.
  public var environment: StoreEnvironment?
  /// The transaction facts, without duplicates. A notification has at most one, a receipt many.
  public var transactions: [StoreTransaction]
  /// The notification around the transactions, if it is one.
  public var notification: NotificationFact?
  /// What it says about the renewal of a subscription.
  package var renewal: RenewalFact?
  /// The app: a bundle id or package name, where the evidence or its context says it.
  package var app: String?
  /// What it says of transactions beside the facts.
  package var traits: [TransactionTrait] = []
  /// Transactions to query the store about, taken from unsigned messages.
  package var lookups: [LookupHint]
  /// When the store signed or stated it; see `StoreTransaction.signedDate`.
  public var signedDate: Int64?
  /// Why the evidence, although it verifies, must not be recorded yet.
  public var quarantine: VerificationError?
  /// Whether the product or token comes from the context and not from the bytes.
  package var isNamedBeside = false
  /// The facts as earlier versions read them, where they differ: ledgers may state these.
  package var earlierTransactions: [StoreTransaction] = []
  /// Notes for the report: `unusable-price`, `sandbox`, `pending`, `partial-refund`, `no-transactions`, `unknown-type`,
  /// `look-up`.
  package var notes: [String]
  /// Decoded fields that the facts do not hold, in the order in which `inspect` prints them.
  package var details: [Detail]

  /// A field of the evidence that decides nothing, for people.
  package struct Detail: Sendable, Hashable {
    /// The name of the field.
    package var name: String
    /// Its value.
    package var value: String

    /// A field and its value.
    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// What a piece of evidence says.
  package init(
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

  /// Whether a store has signed all that was read.
  package var isSigned: Bool { kind.isSigned }

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
  /// The store that sent it.
  public var store: Store
  /// Where it happened; nil where the store does not say.
  public var environment: StoreEnvironment?
  /// The store's id of the notification. A redelivery has the same id.
  public var uuid: String
  /// The store's word for what happened.
  public var type: String
  /// The store's word for the case of it.
  package var subtype: String?
  /// Milliseconds since 1970.
  public var signedDate: Int64
  /// The transaction that it is about.
  public var transaction: TransactionKey?

  /// The facts of a notification, which are not checked.
  package init(
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
package struct RenewalFact: Sendable, Hashable {
  /// Where it was sold.
  package var environment: StoreEnvironment
  /// The first transaction of the subscription.
  package var originalTransactionID: String?
  /// The product that renews.
  package var productID: String?
  /// Milliseconds since 1970.
  package var signedDate: Int64

  /// The facts of a renewal, which are not checked.
  package init(
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
  /// The transaction to ask the store about.
  package var key: TransactionKey
  /// The product, where the store needs it.
  package var productID: String?
  /// Google's token.
  package var purchaseToken: String?

  /// A transaction to ask the store about.
  package init(key: TransactionKey, productID: String?, purchaseToken: String?) {
    self.key = key
    self.productID = productID
    self.purchaseToken = purchaseToken
  }
}
