/// Decoded fields that facts do not hold, for `inspect`.
enum AppleDetails {
  static func ofTransaction(_ payload: JSONValue) -> [VerifiedEvidence.Detail] { details(payload, transactionFields) }

  static func ofRenewal(_ payload: JSONValue) -> [VerifiedEvidence.Detail] { details(payload, renewalFields) }

  static func ofNotification(_ payload: JSONValue) -> [VerifiedEvidence.Detail] { details(payload, notificationFields) }

  private static let transactionFields = [
    "bundleId", "originalPurchaseDate", "webOrderLineItemId", "subscriptionGroupIdentifier", "storefront",
    "storefrontId",
    "appTransactionId", "offerType", "offerIdentifier", "isUpgraded",
  ]
  private static let renewalFields = [
    "autoRenewProductId", "autoRenewStatus", "expirationIntent", "isInBillingRetryPeriod", "gracePeriodExpiresDate",
    "renewalDate", "renewalPrice", "currency",
  ]
  private static let notificationFields = [
    "bundleId", "appAppleId", "bundleVersion", "status", "consumptionRequestReason", "requestIdentifier", "productId",
    "succeededCount", "failedCount", "externalPurchaseId",
  ]

  private static func details(_ payload: JSONValue, _ names: [String]) -> [VerifiedEvidence.Detail] {
    names.compactMap { name in
      switch payload[name] {
      case .string(let text), .number(let text): .init(name, String(text.prefix(256)))
      case .bool(let value): .init(name, value ? "true" : "false")
      default: nil
      }
    }
  }
}
