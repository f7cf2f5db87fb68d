package import PurchaseLedger

/// What happened at both stores, as a plain value in virtual time: simulators answer from it, and tests compare the
/// books with it. Times are milliseconds since 1970.
package struct StoreTruth: Sendable {
  package var apple: [ApplePurchase] = []
  package var play: [PlayOrder] = []

  package init() {}
}

/// A purchase in Apple's store.
package struct ApplePurchase: Sendable {
  package var fact: StoreTransaction
  /// The buyer at Apple: a history has all of a buyer's purchases.
  package var customer: Int
  package var changes: [Change] = []
  /// How long after it is sent a notification appears in the history.
  package var historyDelay: Int64 = 0

  /// A refund, or its reversal.
  package struct Change: Sendable {
    package var at: Int64
    package var isRefund: Bool

    package init(at: Int64, isRefund: Bool) { (self.at, self.isRefund) = (at, isRefund) }
  }

  package init(_ fact: StoreTransaction, customer: Int) { (self.fact, self.customer) = (fact, customer) }

  /// The transaction as the store states it at a time; nil before the purchase.
  package func fact(at time: Int64) -> StoreTransaction? {
    guard fact.purchaseDate <= time else { return nil }
    var stated = fact
    stated.signedDate = time
    if let last = changes.last(where: { $0.at <= time }), last.isRefund {
      stated.statement = .revoked
      stated.revocation = Revocation(date: last.at, reason: "0")
    }
    return stated
  }

  /// When the transaction changed last.
  func changedAt(by time: Int64) -> Int64 { changes.last { $0.at <= time }?.at ?? fact.purchaseDate }

  /// What the store tells the shop: when, and of which type.
  package var notifications: [(type: String, at: Int64)] {
    [("ONE_TIME_CHARGE", fact.purchaseDate + 1500)]
      + changes.map { ($0.isRefund ? "REFUND" : "REFUND_REVERSED", $0.at + 1500) }
  }
}

/// An order in Google Play, of one or several products.
package struct PlayOrder: Sendable {
  /// Nil for promotions, which have none.
  package var orderID: String?
  package var token: String
  package var products: [String]
  package var accountToken: AccountToken?
  package var boughtAt: Int64
  /// When a pending purchase is paid: `boughtAt` for others, nil for one that never is.
  package var paidAt: Int64?
  package var kind: Kind = .paid
  package var acknowledgedAt: Int64?
  package var refund: Void?

  /// Google's `purchaseType`.
  package enum Kind: Int, Sendable {
    case test = 0
    case promotion
    case rewarded
    case paid = 99
  }

  /// An order that was refunded.
  package struct Void: Sendable {
    package var at: Int64
    /// When the list has it, which is by this time.
    package var seenAt: Int64
    /// 8: it was not acknowledged.
    package var reason: Int
    /// 0 the buyer, 1 the developer, 2 Google.
    package var source: Int

    package init(at: Int64, seenAt: Int64, reason: Int = 1, source: Int = 0) {
      (self.at, self.seenAt, self.reason, self.source) = (at, seenAt, reason, source)
    }
  }

  package init(
    orderID: String?, token: String, products: [String], accountToken: AccountToken? = nil, boughtAt: Int64
  ) {
    (self.orderID, self.token, self.products) = (orderID, token, products)
    (self.accountToken, self.boughtAt, paidAt) = (accountToken, boughtAt, boughtAt)
  }

  /// Google refunds what nobody acknowledges: after three days, a tester's purchase after three minutes.
  package var deadline: Int64? { paidAt.map { $0 + (kind == .test ? 180_000 : 3 * 86_400_000) } }

  /// The refund that counts at a time.
  package func void(at time: Int64) -> Void? {
    if let refund, refund.at <= time, refund.at < deadline ?? .max || acknowledgedAt != nil { return refund }
    guard let deadline, deadline <= time, acknowledgedAt ?? .max > deadline else { return nil }
    return Void(at: deadline, seenAt: deadline, reason: 8, source: 2)
  }

  /// When it was bought, as the store states it: a pending purchase is bought when it is paid.
  package func statedTime(at time: Int64) -> Int64 { paidAt.flatMap { $0 <= time ? $0 : nil } ?? boughtAt }

  /// Whether the payment did not come in time: Google waits for three days.
  package func isCancelled(at time: Int64) -> Bool { paidAt == nil && time >= boughtAt + 3 * 86_400_000 }

  package func isPaid(at time: Int64) -> Bool { paidAt.map { $0 <= time } ?? false }

  /// The ids under which the ledger keeps it, one for each product.
  package var transactionIDs: [String] {
    let id = orderID ?? token
    return products.enumerated().map { $0 == 0 ? id : "\(id)/\($1)" }
  }
}
