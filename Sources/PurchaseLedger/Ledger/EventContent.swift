/// What an event says, decoded. Bodies, keys and their fields: docs/ledger.md, Types.
public enum EventContent: Sendable, Hashable {
  case transaction(StoreTransaction)
  case notification(NotificationFact)
  /// `after` is the number of the account's previous claim of the transaction, 0 if there is none.
  case claim(TransactionKey, account: AccountID, isTransfer: Bool, after: Int64)
  case accountOpened(AccountID, token: AccountToken)
  case accountErased(AccountID)
  /// `after` is the number of the policy's previous value, 0 if there is none.
  case policy(name: String, value: String, after: Int64)
  case quarantine(
    kind: EvidenceKind, reason: String, transaction: TransactionKey?, signedDate: Int64?, note: String?)
  /// A policy's answer to a refund that was not whole.
  case decision(TransactionKey, revocationDate: Int64, percentageMilli: Int64, policy: String, value: String)
  case correction(run: Int64, class: ReconcileClass, TransactionKey)
  case acknowledgement(TransactionKey)
  case audit(
    kind: String, account: AccountID?, subject: String?, outcome: String, detail: String?, nonce: AccountID)
  /// A person's decision for what a fact says of some fields, where only the order of bytes or an earlier decision spoke against it.
  case amendment(StoreTransaction, revision: Revision)

  public var type: EventType {
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
    }
  }

  /// What the store said, where the event says that.
  var fact: StoreTransaction? {
    switch self {
    case .transaction(let fact), .amendment(let fact, _): fact
    default: nil
    }
  }

  /// The transaction that the event is about.
  public var transactionKey: TransactionKey? {
    switch self {
    case .transaction(let fact), .amendment(let fact, _): fact.key
    case .notification(let fact): fact.transaction
    case .claim(let key, _, _, _), .decision(let key, _, _, _, _), .correction(_, _, let key): key
    case .acknowledgement(let key): key
    case .quarantine(_, _, let key, _, _): key
    case .accountOpened, .accountErased, .policy, .audit: nil
    }
  }
}

/// One row of the history.
public struct LedgerEvent: Sendable, Hashable {
  /// Counts from 1 without gaps.
  public var seq: Int64
  public var version: Int
  /// Milliseconds since 1970.
  public var recordedAt: Int64
  /// SHA-256 of the evidence it was booked from.
  public var evidence: [UInt8]?
  /// SHA-256 of the chain up to and with this event.
  public var hash: [UInt8]
  public var content: EventContent

  public var type: EventType { content.type }
}
