/// A refund or withdrawal, as the store states it.
public struct Revocation: Sendable, Hashable, Codable {
  /// Milliseconds since 1970.
  public var date: Int64
  /// The store's code or word, raw.
  public var reason: String?
  /// Thousandths of a percent: 100,000 is the whole. Nil when the store gives none: whole, unless `quantity` says less.
  public var percentageMilli: Int64?
  /// Apple's `REFUND_FULL`, `REFUND_PRORATED`, `FAMILY_REVOKE`, or whatever came.
  public var type: String?
  /// How many pieces of a purchase of several were refunded (Google).
  public var quantity: Int64?

  public init(
    date: Int64, reason: String? = nil, percentageMilli: Int64? = nil, type: String? = nil, quantity: Int64? = nil
  ) {
    self.date = date
    self.reason = reason
    self.percentageMilli = percentageMilli
    self.type = type
    self.quantity = quantity
  }
}
