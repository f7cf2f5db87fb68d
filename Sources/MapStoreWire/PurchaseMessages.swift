/// `POST /v1/purchases`: evidence of what a person bought, also of long ago.
public struct PurchaseSubmission: Sendable, Hashable, Codable {
  /// What the store signed, each as the store's library gave it: a compact JWS, a receipt in base64, or Google's purchase JSON with its signature (`{"json": …, "signature": …}`) as text. 1 to 500.
  public var transactions: [String]
  /// True when the person asked to restore; only then a policy may move a grant from another account.
  public var isRestore: Bool

  public init(transactions: [String], isRestore: Bool = false) {
    (self.transactions, self.isRestore) = (transactions, isRestore)
  }
}

/// The answer, after everything that was accepted is committed. Asking again gives the same state and books nothing twice.
public struct PurchaseResults: Sendable, Hashable, Codable {
  /// One for each transaction that was sent, in the same order.
  public var results: [PurchaseResult]

  public init(results: [PurchaseResult]) { self.results = results }
}

public struct PurchaseResult: Sendable, Hashable, Codable {
  public enum Outcome: String, Sendable, Hashable, Codable, CaseIterable {
    /// Verified, committed, and news to us.
    case booked
    /// Committed before.
    case alreadyOwned
    /// Not decided: it waits for approval or payment, or cannot be believed yet. Ask again later.
    case pending
    /// Not this account's, or not the store's.
    case refused
  }

  public var outcome: Outcome
  /// Whether the app should finish the transaction with the store now: what the store said is committed here, for this account.
  public var shouldFinish: Bool
  /// Why, for programs, where that is not plain: `sandbox`, `bad-signature`, `claimed-by-another-account`… (docs/ledger.md).
  public var reason: String?
  /// The same for people.
  public var detail: String?
  /// `production` or `sandbox`; absent when the evidence could not be read.
  public var environment: String?
  /// What the evidence was about; empty when it could not be read.
  public var items: [PurchaseItem]

  public init(
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

  /// Refused since all of it is another account's, which was signed in on this device once: it is left to that account, and nothing of this one's is missing.
  public var isAnotherAccounts: Bool {
    let reasons = ["token-of-another-account", "claimed-by-another-account"]
    guard outcome == .refused else { return false }
    return items.isEmpty
      ? reason.map(reasons.contains) ?? false : items.allSatisfy { $0.reason.map(reasons.contains) ?? false }
  }
}

/// One transaction within a piece of evidence; receipts hold several.
public struct PurchaseItem: Sendable, Hashable, Codable {
  public enum Entitlement: String, Sendable, Hashable, Codable, CaseIterable {
    /// Its region can be downloaded.
    case active
    case pending
    case revoked
    /// Booked to the account, grants nothing: a consumable or subscription.
    case held
    /// Of the sandbox, or withheld by a policy.
    case withheld
    /// Another account's.
    case notYours
  }

  public var transactionId: String
  public var productId: String
  /// The region that the product is, if it is in the catalogue.
  public var regionId: String?
  public var entitlement: Entitlement
  /// Why, where that is not plain.
  public var reason: String?

  public init(
    transactionId: String, productId: String, regionId: String?, entitlement: Entitlement, reason: String? = nil
  ) {
    self.transactionId = transactionId
    self.productId = productId
    self.regionId = regionId
    self.entitlement = entitlement
    self.reason = reason
  }
}
