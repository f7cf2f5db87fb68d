/// What one piece of evidence says about one deal: a fact, verified and decoded. Times are milliseconds since 1970.
///
/// Two facts with equal fields are one event of the ledger, whatever carried them (docs/ledger.md, Events).
public struct StoreTransaction: Sendable, Hashable, Codable {
  public var store: Store
  public var environment: StoreEnvironment
  public var transactionID: String
  public var originalTransactionID: String
  /// Nil in entries of a voided list, which do not name it.
  public var productID: String?
  public var productType: ProductType
  public var purchaseDate: Int64
  public var expiresDate: Int64?
  public var quantity: Int64
  public var ownership: OwnershipType
  /// The account that the app named at the purchase; 16 bytes.
  public var appAccountToken: AccountToken?
  public var price: Money?
  /// `PURCHASE`, `PROMOTION`, or whatever the store says; empty when it does not.
  public var reason: String
  /// Google's handle for acknowledging and asking.
  public var purchaseToken: String?
  public var isAcknowledged: Bool
  /// When the store said so; decides between facts.
  public var signedDate: Int64
  public var trust: Trust
  public var statement: Statement
  /// Present exactly when `statement` is `revoked`.
  public var revocation: Revocation?

  public init(
    store: Store, environment: StoreEnvironment, transactionID: String, originalTransactionID: String,
    productID: String?, productType: ProductType = .unknown, purchaseDate: Int64, expiresDate: Int64? = nil,
    quantity: Int64 = 1, ownership: OwnershipType = .unknown, appAccountToken: AccountToken? = nil,
    price: Money? = nil, reason: String = "", purchaseToken: String? = nil, isAcknowledged: Bool = false,
    signedDate: Int64, trust: Trust, statement: Statement, revocation: Revocation? = nil
  ) {
    self.store = store
    self.environment = environment
    self.transactionID = transactionID
    self.originalTransactionID = originalTransactionID
    self.productID = productID
    self.productType = productType
    self.purchaseDate = purchaseDate
    self.expiresDate = expiresDate
    self.quantity = quantity
    self.ownership = ownership
    self.appAccountToken = appAccountToken
    self.price = price
    self.reason = reason
    self.purchaseToken = purchaseToken
    self.isAcknowledged = isAcknowledged
    self.signedDate = signedDate
    self.trust = trust
    self.statement = statement
    self.revocation = revocation
  }

  public var key: TransactionKey { TransactionKey(store: store, environment: environment, id: transactionID) }
  public var grantKey: TransactionKey {
    TransactionKey(store: store, environment: environment, id: originalTransactionID)
  }
}

/// Whether a signature of the store stands behind a fact, or the operator does.
public enum Trust: UInt8, Sendable, Hashable, Codable, Comparable {
  case unsigned = 0
  case signed = 1

  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
