/// `POST /v1/purchases`: evidence of purchases, recent or old.
public struct PurchaseSubmission: Sendable, Hashable, Codable {
  /// 1 to 500 pieces of evidence, each as the app store's library returns it: a compact JWS, a receipt in base64, or
  /// Google's purchase JSON with its signature (`{"json": …, "signature": …}`) as text.
  public var transactions: [String]
  /// True if the user asked to restore purchases; only then may a policy move a grant from another account.
  public var isRestore: Bool

  /// Evidence as the app store's library returns it.
  public init(transactions: [String], isRestore: Bool = false) {
    (self.transactions, self.isRestore) = (transactions, isRestore)
  }
}

/// The answer, sent after everything accepted is committed. Posting again gives the same state and records nothing
/// twice.
public struct PurchaseResults: Sendable, Hashable, Codable {
  /// One for each posted transaction, in the same order.
  public var results: [PurchaseResult]

  /// Results in the order of the posted transactions.
  package init(results: [PurchaseResult]) { self.results = results }
}

/// What became of one piece of evidence.
public struct PurchaseResult: Sendable, Hashable, Codable {
  /// Whether the purchase counts.
  public enum Outcome: String, Sendable, Hashable, Codable, CaseIterable {
    /// Verified, committed, and new.
    case booked
    /// Committed earlier.
    case alreadyOwned
    /// Undecided: it waits for approval or payment, or is quarantined. Ask again later.
    case pending
    /// Not signed by the app store, or another account's.
    case refused
  }

  /// Whether the purchase counts.
  public var outcome: Outcome
  /// Whether the app should finish the transaction with the app store now: it is committed here for this account.
  public var shouldFinish: Bool
  /// A code of the reason, if there is one: `sandbox`, `bad-signature`, `claimed-by-another-account`…
  /// (docs/reference/ledger.md).
  public var reason: String?
  /// The reason for people.
  public var detail: String?
  /// `production` or `sandbox`; absent if the evidence could not be read.
  public var environment: String?
  /// The transactions of the evidence; empty if it could not be read.
  public var items: [PurchaseItem]

  /// A result; `reason` is a code, `detail` a text for people.
  package init(
    outcome: Outcome, shouldFinish: Bool, reason: String? = nil, detail: String? = nil, environment: String? = nil,
    items: [PurchaseItem] = []
  ) {
    self.outcome = outcome
    self.shouldFinish = shouldFinish
    self.reason = reason
    self.detail = detail
    self.environment = environment
    self.items = items
  }

  /// Whether it was refused because all of it belongs to another account that was signed in on this device before.
  public var isAnotherAccounts: Bool {
    let reasons = ["token-of-another-account", "claimed-by-another-account"]
    guard outcome == .refused else { return false }
    return items.isEmpty
      ? reason.map(reasons.contains) ?? false : items.allSatisfy { $0.reason.map(reasons.contains) ?? false }
  }
}

/// One transaction of a piece of evidence; receipts hold several.
public struct PurchaseItem: Sendable, Hashable, Codable {
  /// What the transaction gives to the account.
  public enum Entitlement: String, Sendable, Hashable, Codable, CaseIterable {
    /// The region can be downloaded.
    case active
    /// The app store waits for an approval or a payment.
    case pending
    /// Refunded or revoked by the app store.
    case revoked
    /// Recorded for the account, but grants nothing: a consumable or subscription.
    case held
    /// From the sandbox, or withheld by a policy.
    case withheld
    /// It belongs to another account.
    case notYours
  }

  /// The app store's id: Apple's transaction id, Google's order id.
  public var transactionId: String
  /// The product's id in the app stores.
  public var productId: String
  /// The region of the product, if it is in the catalogue.
  public var regionId: String?
  /// What the transaction gives to the account.
  public var entitlement: Entitlement
  /// A code of the reason, if there is one.
  public var reason: String?

  /// A transaction with what it gives; `reason` is a code.
  package init(
    transactionId: String, productId: String, regionId: String?, entitlement: Entitlement, reason: String? = nil
  ) {
    self.transactionId = transactionId
    self.productId = productId
    self.regionId = regionId
    self.entitlement = entitlement
    self.reason = reason
  }
}
