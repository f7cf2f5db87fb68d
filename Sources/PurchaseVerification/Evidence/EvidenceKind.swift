/// The kind of a piece of evidence. Raw values are stored in the database and are never renumbered.
public enum EvidenceKind: UInt8, Sendable, Hashable, Codable, CaseIterable {
  /// Apple's signed transaction (JWS).
  case transaction = 1
  /// App Store Server Notification, version 2 (JWS).
  case notification = 2
  /// Apple's signed renewal info (JWS).
  case renewal = 3
  /// Apple's PKCS#7 app receipt.
  case receipt = 4
  /// Response of Apple's `verifyReceipt`.
  case verifyReceipt = 5
  /// App Store Server Notification, version 1. Unsigned: only a hint to query the store.
  case notificationV1 = 6
  /// Google's purchase JSON with its RSA signature.
  case googlePurchase = 7
  /// Google's `purchases.products` resource.
  case googleProduct = 8
  /// A page of Google's voided purchases.
  case googleVoided = 9
  /// Google's real-time developer notification. Unsigned: only a hint to query the store.
  case googleNotification = 10
  /// A purchase token with its product, which is all that some client libraries hand over. Unsigned: only a question to
  /// the store.
  case googleToken = 11
  /// Apple's signed app transaction: who has the app, and since which version (JWS).
  case appTransaction = 12
  /// Google's `orders` resource: what was paid, the tax, and the buyer's country.
  case googleOrder = 13

  /// The name in reports and in commands.
  public var name: String {
    switch self {
    case .transaction: "transaction"
    case .notification: "notification"
    case .renewal: "renewal"
    case .receipt: "receipt"
    case .verifyReceipt: "verify-receipt"
    case .notificationV1: "notification-v1"
    case .googlePurchase: "google-purchase"
    case .googleProduct: "google-product"
    case .googleVoided: "google-voided"
    case .googleNotification: "google-notification"
    case .googleToken: "google-token"
    case .appTransaction: "app-transaction"
    case .googleOrder: "google-order"
    }
  }

  /// The store that issues this kind.
  package var store: Store {
    switch self {
    case .transaction, .notification, .renewal, .receipt, .verifyReceipt, .notificationV1, .appTransaction: .apple
    case .googlePurchase, .googleProduct, .googleVoided, .googleNotification, .googleToken, .googleOrder: .google
    }
  }

  /// Whether the store's signature covers everything that is read from the evidence.
  package var isSigned: Bool {
    switch self {
    case .transaction, .notification, .renewal, .receipt, .googlePurchase, .appTransaction: true
    case .verifyReceipt, .notificationV1, .googleProduct, .googleVoided, .googleNotification, .googleToken,
      .googleOrder:
      false
    }
  }

  /// Whether the facts follow from the bytes alone. Google's evidence takes its environment, product or token from the
  /// context.
  package var isWhole: Bool {
    switch self {
    case .transaction, .notification, .renewal, .receipt, .verifyReceipt, .notificationV1, .appTransaction: true
    case .googlePurchase, .googleProduct, .googleVoided, .googleNotification, .googleToken, .googleOrder: false
    }
  }

  /// The kind of this name; nil for others.
  public init?(name: String) {
    guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = kind
  }
}
