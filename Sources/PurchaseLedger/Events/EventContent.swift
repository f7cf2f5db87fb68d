/// The decoded content of an event. Bodies, keys and their fields: docs/reference/ledger-schema.md, Types.
package enum EventContent: Sendable, Hashable {
  /// What a store says of a transaction.
  case transaction(StoreTransaction)
  /// A store's message that something has happened.
  case notification(NotificationFact)
  /// `after` is the sequence number of the account's previous claim of the transaction, 0 if there is none.
  case claim(TransactionKey, account: AccountID, isTransfer: Bool, after: Int64)
  /// A new account, with the token that its purchases carry.
  case accountOpened(AccountID, token: AccountToken)
  /// An account that exists no more; its events stay, without its login.
  case accountErased(AccountID)
  /// `after` is the sequence number of the policy's previous value, 0 if there is none.
  case policy(name: String, value: String, after: Int64)
  /// Evidence that cannot be used yet, and why.
  case quarantine(
    kind: EvidenceKind, reason: String, transaction: TransactionKey?, signedDate: Int64?, note: String?)
  /// The policy that applied to a partial refund.
  case decision(TransactionKey, revocationDate: Int64, percentageMilli: Int64, policy: String, value: String)
  /// A difference that `reconcile` has corrected, by the number of its run.
  case correction(run: Int64, class: ReconcileClass, TransactionKey)
  /// Google was told that the purchase is delivered.
  case acknowledgement(TransactionKey)
  /// Who asked for what, and how that ended; in the operator's log, not in entitlements.
  case audit(
    kind: String, account: AccountID?, subject: String?, outcome: String, detail: String?, nonce: AccountID)
  /// An operator's decision for a fact's values of some fields, where only the tie-break or an earlier decision
  /// favoured other values.
  case amendment(StoreTransaction, revision: Revision)
  /// What a store says of a transaction beside its fact.
  case trait(TransactionTrait)
  /// What an operator did for a customer, or a customer decided.
  case act(Act)

  /// The type, which is stored beside the body.
  package var type: EventType {
    switch self {
    case .transaction: .transaction
    case .notification: .notification
    case .claim: .claim
    case .accountOpened: .accountOpened
    case .accountErased: .accountErased
    case .policy: .policy
    case .quarantine: .quarantine
    case .decision: .decision
    case .correction: .correction
    case .acknowledgement: .acknowledgement
    case .audit: .audit
    case .amendment: .amendment
    case .trait: .trait
    case .act: .act
    }
  }

  /// The fact stated by the store, in events that have one.
  var fact: StoreTransaction? {
    switch self {
    case .transaction(let fact), .amendment(let fact, _): fact
    default: nil
    }
  }

  /// The transaction that the event concerns.
  package var transactionKey: TransactionKey? {
    switch self {
    case .transaction(let fact), .amendment(let fact, _): fact.key
    case .notification(let fact): fact.transaction
    case .claim(let key, _, _, _), .decision(let key, _, _, _, _), .correction(_, _, let key): key
    case .acknowledgement(let key): key
    case .quarantine(_, _, let key, _, _): key
    case .trait(let trait): trait.key
    case .act(let act): act.transaction
    case .accountOpened, .accountErased, .policy, .audit: nil
    }
  }
}

/// The type of an event. The integers are hashed: never renumber. Fields: docs/reference/ledger-schema.md, Types.
public enum EventType: UInt16, Sendable, Hashable, CaseIterable {
  /// ``EventContent/transaction(_:)``.
  case transaction = 1
  /// ``EventContent/notification(_:)``.
  case notification = 2
  /// An account claims a transaction.
  case claim = 3
  /// An account was opened.
  case accountOpened = 4
  /// An account was erased.
  case accountErased = 5
  /// A policy has another value.
  case policy = 6
  /// Evidence waits.
  case quarantine = 7
  /// A policy was applied to a partial refund.
  case decision = 8
  /// A reconciliation corrected a difference.
  case correction = 9
  /// Google was told of a delivery.
  case acknowledgement = 10
  /// An entry of the audit log.
  case audit = 11
  /// An operator decided between values of a fact.
  case amendment = 12
  /// A store said more of a transaction than its fact.
  case trait = 13
  /// An operator acted for a customer.
  case act = 14
}

extension EventType {
  /// Types that state what a store said in the evidence that the event names.
  static let stating: [Self] = [.transaction, .notification, .amendment, .trait]
  /// Types whose evidence was verified when the event was recorded: those of `stating`, and claims.
  static let vouching = stating + [.claim]
  /// Types whose content follows from the evidence that they name, at least in part.
  static let evidential = vouching + [.quarantine, .decision, .correction]

  /// The types as a list in SQL.
  static func list(_ types: [Self]) -> String { "(" + types.map { "\($0.rawValue)" }.joined(separator: ", ") + ")" }
}

/// The result of comparing a transaction in the store's list and in the ledger. The integers are hashed in corrections:
/// never renumber.
package enum ReconcileClass: UInt8, Sendable, Hashable, CaseIterable {
  /// Both sides agree.
  case matched = 0
  /// The store lists it, the ledger lacks it.
  case storeOnly = 1
  /// The ledger has it, the store does not list it.
  case ownOnly = 2
  /// Both have it with different fields.
  case stateDiffers = 3
  /// The store names another account than the ledger's owner.
  case accountConflict = 4
  /// Its evidence waits in the ledger.
  case quarantined = 5

  /// The name in reports.
  package var name: String {
    switch self {
    case .matched: "matched"
    case .storeOnly: "store-only"
    case .ownOnly: "own-only"
    case .stateDiffers: "state-differs"
    case .accountConflict: "account-conflict"
    case .quarantined: "quarantined"
    }
  }
}

/// An operator's decision for a fact's values of some fields.
package struct Revision: Sendable, Hashable {
  /// How often these fields were decided, from 1.
  package var number: Int64
  var fields: Set<DescribedField>

  init(_ number: Int64, of fields: Set<DescribedField>) { (self.number, self.fields) = (number, fields) }

  /// The fields' names in exports.
  package var fieldNames: [String] { DescribedField.allCases.filter(fields.contains).map(\.name) }

  // MARK: Storage

  /// One bit for each field.
  var mask: UInt16 { fields.reduce(0) { $0 | 1 << UInt16($1.rawValue) } }

  /// Nil if no bit is set, or a bit of no field.
  init?(_ number: Int64, mask: UInt16) {
    self.init(number, of: Set(DescribedField.allCases.filter { mask & 1 << UInt16($0.rawValue) != 0 }))
    guard mask != 0, self.mask == mask else { return nil }
  }
}

/// The fields that describe a transaction. The numbers are stored in `store_transaction.described`: never renumber.
enum DescribedField: UInt8, CaseIterable {
  case originalID = 0
  case productID = 1
  case productType = 2
  case purchaseDate = 3
  case expiresDate = 4
  case quantity = 5
  case ownership = 6
  case price = 7
  case reason = 8
  case purchaseToken = 9

  /// The name in exports and reports.
  var name: String {
    switch self {
    case .originalID: "originalTransactionId"
    case .productID: "productId"
    case .productType: "productType"
    case .purchaseDate: "purchaseDate"
    case .expiresDate: "expiresDate"
    case .quantity: "quantity"
    case .ownership: "ownership"
    case .price: "price"
    case .reason: "transactionReason"
    case .purchaseToken: "purchaseToken"
    }
  }
}
