/// What a piece of evidence is. The integer stands in the database; never renumbered.
public enum EvidenceKind: UInt8, Sendable, Hashable, Codable, CaseIterable {
  /// Apple's signed transaction (JWS).
  case transaction = 1
  /// App Store Server Notification, version 2 (JWS).
  case notification = 2
  /// Apple's signed renewal info (JWS).
  case renewal = 3
  /// Apple's PKCS#7 app receipt.
  case receipt = 4
  /// Answer of Apple's `verifyReceipt`.
  case verifyReceipt = 5
  /// App Store Server Notification, version 1: unsigned, a hint.
  case notificationV1 = 6
  /// Google's purchase JSON with its RSA signature.
  case googlePurchase = 7
  /// Google's `purchases.products` resource.
  case googleProduct = 8
  /// A page of Google's voided purchases.
  case googleVoided = 9
  /// Google's real-time developer notification: unsigned, a hint.
  case googleNotification = 10

  /// As reports and `--format` spell it.
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
    }
  }

  /// Whose evidence it is.
  package var store: Store {
    switch self {
    case .transaction, .notification, .renewal, .receipt, .verifyReceipt, .notificationV1: .apple
    case .googlePurchase, .googleProduct, .googleVoided, .googleNotification: .google
    }
  }

  /// True for evidence that carries the store's signature over all that is read from it.
  package var isSigned: Bool {
    switch self {
    case .transaction, .notification, .renewal, .receipt, .googlePurchase: true
    case .verifyReceipt, .notificationV1, .googleProduct, .googleVoided, .googleNotification: false
    }
  }

  /// True for evidence whose facts follow from its bytes alone; Google's take their environment, product or token from what stands beside them.
  var isWhole: Bool {
    switch self {
    case .transaction, .notification, .renewal, .receipt, .verifyReceipt, .notificationV1: true
    case .googlePurchase, .googleProduct, .googleVoided, .googleNotification: false
    }
  }

  public init?(name: String) {
    guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = kind
  }
}
