import Crypto
import Foundation

/// A row of `store_transaction`: the least upper bound of all facts about one transaction (docs/ledger.md, The fold).
struct TransactionRow: Sendable, Equatable {
  var key: RowKey
  var originalID: String
  /// Empty when unknown.
  var productID: String
  var productType: ProductType
  var purchaseDate: Int64
  var expiresDate: Int64?
  var quantity: Int64
  var ownership: String
  var price: Money?
  var reason: String
  var purchaseToken: String?
  var signedDate: Int64
  var statement: Statement
  var trust: Trust
  /// What the latest fact says; what all of them say together is `refund`.
  var revocation: Revocation?
  /// Each partial refund of a purchase of several pieces (Google).
  var voided: VoidedPieces
  var token: UUID?
  var tokenDate: Int64?
  var isAcknowledged: Bool
  /// Of the fields that were not said with the state.
  var stamps: FieldStamps

  /// What a single fact says.
  ///
  /// - Parameter revision: A person's decision for it.
  /// - Precondition: The fact's environment has a code.
  init(_ fact: StoreTransaction, revision: Revision? = nil) {
    guard let key = RowKey(fact.key) else { preconditionFailure("environment \(fact.environment) is never booked") }
    self.key = key
    originalID = fact.originalTransactionID
    productID = fact.productID ?? ""
    productType = fact.productType
    purchaseDate = fact.purchaseDate
    expiresDate = fact.expiresDate
    quantity = fact.quantity
    ownership = fact.ownership.rawValue
    price = fact.price
    reason = fact.reason
    purchaseToken = fact.purchaseToken
    signedDate = fact.signedDate
    statement = fact.statement
    trust = fact.trust
    revocation = fact.revocation
    voided = VoidedPieces(fact)
    token = fact.appAccountToken?.uuid
    tokenDate = fact.appAccountToken == nil ? nil : fact.signedDate
    isAcknowledged = fact.isAcknowledged
    stamps = FieldStamps()
    stamps = Self.stamps(of: self, revision: revision)
  }

  init(
    key: RowKey, originalID: String, productID: String, productType: ProductType, purchaseDate: Int64,
    expiresDate: Int64?, quantity: Int64, ownership: String, price: Money?, reason: String, purchaseToken: String?,
    signedDate: Int64, statement: Statement, trust: Trust, revocation: Revocation?, voided: VoidedPieces,
    token: UUID?, tokenDate: Int64?, isAcknowledged: Bool, stamps: FieldStamps
  ) {
    self.key = key
    self.originalID = originalID
    self.productID = productID
    self.productType = productType
    self.purchaseDate = purchaseDate
    self.expiresDate = expiresDate
    self.quantity = quantity
    self.ownership = ownership
    self.price = price
    self.reason = reason
    self.purchaseToken = purchaseToken
    self.signedDate = signedDate
    self.statement = statement
    self.trust = trust
    self.revocation = revocation
    self.voided = voided
    self.token = token
    self.tokenDate = tokenDate
    self.isAcknowledged = isAcknowledged
    self.stamps = stamps
  }

  var isOriginal: Bool { key.id == originalID }
  var grant: RowKey { key.with(id: originalID) }

  /// The revocation with the pieces of all partial refunds.
  var refund: Revocation? {
    guard var refund = revocation, refund.quantity != nil else { return revocation }
    refund.quantity = max(refund.quantity ?? 0, voided.count)
    return refund
  }

  /// What reconcile compares, 16 bytes: all that follows from the row but when and how surely it was said, whose it is, and whether it was acknowledged.
  var digest: [UInt8] {
    var encoder = CanonicalEncoder(reserving: 256)
    encoder.text(originalID)
    encoder.text(productID)
    encoder.text(productType.rawValue)
    encoder.i64(purchaseDate)
    encoder.optional(expiresDate) { $0.i64($1) }
    encoder.i64(quantity)
    encoder.text(ownership)
    encoder.optional(price) {
      $0.i64($1.milliunits)
      $0.text($1.currency)
    }
    encoder.text(reason)
    encoder.optional(purchaseToken) { $0.text($1) }
    encoder.u8((statement == .reversed ? .purchased : statement).rawValue)
    encoder.optional(refund) { $1.encode(into: &$0) }
    return [UInt8](SHA256.hash(data: encoder.bytes).prefix(16))
  }
}
