/// What a store says of a transaction beside its fact: the app, the person's id there, the state of a subscription.
///
/// A trait is an event of its own, so that facts keep their form and ledgers of earlier versions their events.
package struct TransactionTrait: Sendable, Hashable {
  /// What is said. Names of later versions are kept.
  package struct Name: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// The bundle id or package name, where it is not that of the ledger's first app.
    package static let app = Self(rawValue: "app")
    /// Apple's id of a person's copy of the app.
    package static let appTransactionID = Self(rawValue: "appTransactionId")
    /// An account id of the app's own that is not a UUID (Google's obfuscatedExternalAccountId).
    package static let accountID = Self(rawValue: "accountId")
    /// The version that a person had first (app transactions).
    package static let originalVersion = Self(rawValue: "originalApplicationVersion")
    /// When the person got the app, in milliseconds since 1970 (app transactions).
    package static let originalPurchaseDate = Self(rawValue: "originalPurchaseDate")
    /// Until when a subscription goes on although its renewal was not paid, in milliseconds since 1970; 0 for none.
    package static let graceUntil = Self(rawValue: "gracePeriodExpiresDate")
    /// `true` while the store tries to collect the payment of a renewal.
    package static let billingRetry = Self(rawValue: "isInBillingRetryPeriod")
    /// The product that a subscription renews as.
    package static let renewsAs = Self(rawValue: "autoRenewProductId")
    /// 1 for a subscription that renews, 0 for one that ends.
    package static let renews = Self(rawValue: "autoRenewStatus")
  }

  /// The transaction; for what is said of a subscription its first one.
  package var key: TransactionKey
  package var name: Name
  package var value: String
  /// When the store said so, in milliseconds since 1970; 0 for what never changes.
  package var date: Int64

  package init(key: TransactionKey, _ name: Name, _ value: String, date: Int64 = 0) {
    (self.key, self.name, self.value, self.date) = (key, name, value, date)
  }
}

extension VerifiedEvidence {
  /// Adds an account id that is not a token, as what is said of all its transactions.
  package mutating func addTraits(of account: (id: String, token: AccountToken?)?) {
    guard let account, account.token == nil else { return }
    traits += transactions.map { TransactionTrait(key: $0.key, .accountID, account.id) }
  }
}
