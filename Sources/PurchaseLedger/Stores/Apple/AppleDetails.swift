import Support

/// Decoded fields that facts do not hold, for `inspect`.
enum AppleDetails {
  static func ofTransaction(_ payload: JSONValue) -> [VerifiedEvidence.Detail] { details(payload, transactionFields) }

  static func ofRenewal(_ payload: JSONValue) -> [VerifiedEvidence.Detail] { details(payload, renewalFields) }

  static func ofNotification(_ payload: JSONValue) -> [VerifiedEvidence.Detail] { details(payload, notificationFields) }

  private static let transactionFields: Set<String> = [
    "bundleId", "originalPurchaseDate", "webOrderLineItemId", "subscriptionGroupIdentifier", "storefront",
    "storefrontId",
    "appTransactionId", "offerType", "offerIdentifier", "isUpgraded",
  ]
  private static let renewalFields: Set<String> = [
    "autoRenewProductId", "autoRenewStatus", "expirationIntent", "isInBillingRetryPeriod", "gracePeriodExpiresDate",
    "renewalDate", "renewalPrice", "currency",
  ]
  private static let notificationFields: Set<String> = [
    "bundleId", "appAppleId", "bundleVersion", "status", "consumptionRequestReason", "requestIdentifier", "productId",
    "succeededCount", "failedCount", "externalPurchaseId",
  ]

  private static func details(_ payload: JSONValue, _ names: Set<String>) -> [VerifiedEvidence.Detail] {
    var details: [VerifiedEvidence.Detail] = []
    for member in payload.members ?? [] where names.contains(member.name) {
      switch member.value {
      case .string(let text), .number(let text): if text.utf8.count <= 256 { details.append(.init(member.name, text)) }
      case .bool(let value): details.append(.init(member.name, value ? "true" : "false"))
      default: break
      }
    }
    return details
  }
}
