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
