/// The state of a grant.
public struct Entitlement: Sendable, Hashable {
  /// Integers stand in the database; never renumbered.
  public enum Status: UInt8, Sendable, CaseIterable {
    case pending = 0
    /// Owned.
    case active = 1
    case revoked = 2
    /// A consumable or subscription: booked to its account, grants nothing.
    case held = 3
    /// Of another environment, or withheld by a policy.
    case withheld = 4
  }

  /// With the original transaction's id.
  public var grant: TransactionKey
  public var account: AccountID?
  public var productID: String?
  public var productType: ProductType
  public var status: Status
  /// Why, when that is not plain: `sandbox`, `refunded`, `family-sharing`...
  public var reason: String
  /// Milliseconds since 1970.
  public var since: Int64
  /// Thousandths of a percent that a partial refund gave back.
  public var refundedMilli: Int64

  public init(
    grant: TransactionKey, account: AccountID?, productID: String?, productType: ProductType, status: Status,
    reason: String, since: Int64, refundedMilli: Int64
  ) {
    self.grant = grant
    self.account = account
    self.productID = productID
    self.productType = productType
    self.status = status
    self.reason = reason
    self.since = since
    self.refundedMilli = refundedMilli
  }
}
