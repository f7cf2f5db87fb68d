/// What one piece of evidence states about one transaction: a verified, decoded fact. Times are milliseconds since
/// 1970.
///
/// Facts with equal fields become one event, whichever evidence carried them (docs/reference/ledger-schema.md, Events).
public struct StoreTransaction: Sendable, Hashable, Codable {
  /// The store that sold it.
  public var store: Store
  /// Where it was sold.
  public var environment: StoreEnvironment
  /// The store's id.
  public var transactionID: String
  /// The id of the first transaction of a chain of renewals; its own where there is no chain.
  public var originalTransactionID: String
  /// Nil in entries of Google's voided list, which do not name the product.
  public var productID: String?
  /// What kind of product it is.
  public var productType: ProductType
  /// Milliseconds since 1970.
  public var purchaseDate: Int64
  /// The end of a subscription: milliseconds since 1970.
  public var expiresDate: Int64?
  /// How many were bought.
  public var quantity: Int64
  /// Whose purchase it is.
  public var ownership: OwnershipType
  /// The account token that the app passed to the store at the purchase.
  public var appAccountToken: AccountToken?
  /// What was paid, where the evidence says it.
  public var price: Money?
  /// `PURCHASE`, `PROMOTION` or another value of the store; empty if the store gives none.
  public var reason: String
  /// Google's purchase token, with which a purchase is acknowledged and queried.
  public var purchaseToken: String?
  /// Whether Google was told that it was delivered; false where the evidence does not say.
  public var isAcknowledged: Bool
  /// When the store issued the fact. Of two facts the later one determines the transaction's state.
  public var signedDate: Int64
  /// Whether the store has signed it.
  public var trust: Trust
  /// What the store says about it.
  public var statement: Statement
  /// Present exactly when `statement` is `revoked`.
  public var revocation: Revocation?

  /// The facts of a transaction, which are not checked.
  package init(
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

  /// The key of this transaction.
  public var key: TransactionKey { TransactionKey(store: store, environment: environment, id: transactionID) }
  /// The key of the transaction that grants: the first one of a chain of renewals.
  package var grantKey: TransactionKey {
    TransactionKey(store: store, environment: environment, id: originalTransactionID)
  }
}

/// Whether the store signed a fact or the operator vouches for it.
public enum Trust: UInt8, Sendable, Hashable, Codable, Comparable {
  /// An operator asserts it.
  case unsigned = 0
  /// The store has signed it, and the signature was verified.
  case signed = 1

  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The state that a fact gives a transaction. Of facts signed at the same time the greater state wins.
public enum Statement: UInt8, Sendable, Hashable, Codable, Comparable, CaseIterable {
  /// It waits for payment or approval.
  case pending = 0
  /// It is paid.
  case purchased = 1
  /// It was refunded or revoked.
  case revoked = 2
  /// The store reversed a refund.
  case reversed = 3

  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// A refund or withdrawal, as the store states it.
public struct Revocation: Sendable, Hashable, Codable {
  /// Milliseconds since 1970.
  public var date: Int64
  /// The store's reason code, unchanged.
  public var reason: String?
  /// The refunded share in thousandths of a percent; 100,000 is the whole price. Nil if the store gives none: then the
  /// refund is whole unless `quantity` is smaller.
  public var percentageMilli: Int64?
  /// Apple's `REFUND_FULL`, `REFUND_PRORATED`, `FAMILY_REVOKE`, or an unknown value unchanged.
  public var type: String?
  /// How many items of a purchase of several were refunded (Google).
  public var quantity: Int64?

  /// A revocation at a date in milliseconds since 1970.
  package init(
    date: Int64, reason: String? = nil, percentageMilli: Int64? = nil, type: String? = nil, quantity: Int64? = nil
  ) {
    self.date = date
    self.reason = reason
    self.percentageMilli = percentageMilli
    self.type = type
    self.quantity = quantity
  }
}

/// The product's type in Apple's spelling; unknown values are kept unchanged.
public struct ProductType: RawRepresentable, Sendable, Hashable, Codable {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  /// Old receipts and `verifyReceipt` answers do not state a type.
  public static let unknown = Self(rawValue: "")
  /// Bought once, owned for good.
  public static let nonConsumable = Self(rawValue: "Non-Consumable")
  /// Used up, and bought again.
  public static let consumable = Self(rawValue: "Consumable")
  /// A subscription that renews itself.
  public static let autoRenewable = Self(rawValue: "Auto-Renewable Subscription")
  /// A subscription that ends.
  public static let nonRenewing = Self(rawValue: "Non-Renewing Subscription")

  /// Whether it is one of the subscriptions.
  package var isSubscription: Bool { self == .autoRenewable || self == .nonRenewing }
}

extension ProductType: Comparable {
  /// The order used by the fold: if two sources disagree the greater type wins, so that a type without entitlement
  /// wins.
  public static func < (a: Self, b: Self) -> Bool {
    a.rank == b.rank ? a.rawValue.utf8.lexicographicallyPrecedes(b.rawValue.utf8) : a.rank < b.rank
  }

  private var rank: Int {
    switch self {
    case .unknown: 0
    case .nonConsumable: 1
    case .nonRenewing: 3
    case .autoRenewable: 4
    case .consumable: 5
    default: 2
    }
  }
}

/// Whether the customer bought the product or a family member shares it.
public struct OwnershipType: RawRepresentable, Sendable, Hashable, Codable {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  /// The evidence does not say.
  public static let unknown = Self(rawValue: "")
  /// The buyer's own.
  public static let purchased = Self(rawValue: "PURCHASED")
  /// Shared by a member of the family.
  public static let familyShared = Self(rawValue: "FAMILY_SHARED")
}

/// An amount in thousandths of the currency's main unit, as stores state it (10990 is 10.99 USD).
public struct Money: Sendable, Hashable, Codable {
  /// Thousandths of the currency's unit.
  public var milliunits: Int64
  /// ISO 4217, upper case.
  public var currency: String

  /// An amount in a currency.
  package init(milliunits: Int64, currency: String) {
    self.milliunits = milliunits
    self.currency = currency
  }
}

extension Money: Comparable {
  public static func < (a: Self, b: Self) -> Bool {
    a.milliunits == b.milliunits
      ? a.currency.utf8.lexicographicallyPrecedes(b.currency.utf8) : a.milliunits < b.milliunits
  }
}

extension Money {
  /// The amount as decimal text with the currency's digits, or more if it has them.
  package var decimal: String {
    let milli = milliunits.magnitude
    var fraction = String(String(1000 + milli % 1000).dropFirst())
    while fraction.count > Self.digits(of: currency), fraction.hasSuffix("0") { fraction.removeLast() }
    return (milliunits < 0 ? "-" : "") + "\(milli / 1000)" + (fraction.isEmpty ? "" : "." + fraction)
  }

  /// The digits of the currency's minor unit in ISO 4217; two by default.
  package static func digits(of currency: String) -> Int {
    switch currency {
    case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF",
      "XOF", "XPF":
      0
    case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND": 3
    case "CLF", "UYW": 4
    default: 2
    }
  }

  /// Whether the currency is one that people pay in: a code of ISO 4217 other than those for no currency and for tests.
  package var namesCurrency: Bool { Self.currencies.contains(currency) && !["XXX", "XTS"].contains(currency) }

  /// The codes of ISO 4217 in upper case, including codes withdrawn since 2008, which old evidence names.
  static let currencies = Set(
    """
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD
    CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP
    GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK
    LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR
    PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL
    THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA
    XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XTS XUA XXX YER ZAR ZMW ZWG
    BYR CUC EEK HRK LTL LVL MRO SKK SLL STD TMM USS VEF XFU ZMK ZWD ZWL ZWR
    """.split(whereSeparator: \.isWhitespace).map(String.init))
}
