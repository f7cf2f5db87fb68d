import Support

/// Reads fields of Apple's JSON and enforces `FieldRules`. Errors name the field.
struct AppleFields {
  let json: JSONValue

  init(_ json: JSONValue) { self.json = json }

  func identifier(_ name: String) throws(VerificationError) -> String {
    guard let id = try optionalIdentifier(name) else { throw VerificationError(.incomplete, "\(name) is missing") }
    return id
  }

  /// An id as text, or as a number, which some sources write where Apple documents text. Empty text counts as missing.
  func optionalIdentifier(_ name: String) throws(VerificationError) -> String? {
    guard let value = json[name] else { return nil }
    guard let text = value.identifier else {
      throw VerificationError(.malformed, "\(name) is neither text nor a whole number")
    }
    return text.isEmpty ? nil : try FieldRules.identifier(text, name)
  }

  /// A keyword of Apple's, kept as written.
  func word(_ name: String) throws(VerificationError) -> String? {
    guard let value = json[name] else { return nil }
    guard let text = value.identifier else {
      throw VerificationError(.malformed, "\(name) is neither text nor a whole number")
    }
    return text.isEmpty ? nil : try FieldRules.text(text, name)
  }

  func date(_ name: String) throws(VerificationError) -> Int64? {
    guard let value = json[name], !value.isEmptyText else { return nil }
    guard let milliseconds = value.integer else {
      throw VerificationError(.dateOutOfRange, "\(name) is no date in milliseconds")
    }
    return try FieldRules.date(milliseconds, name)
  }

  func integer(_ name: String) throws(VerificationError) -> Int64? {
    guard let value = json[name], !value.isEmptyText else { return nil }
    guard let integer = value.integer else { throw VerificationError(.malformed, "\(name) is not a whole number") }
    return integer
  }

  /// The quantity bought. Missing means one.
  func quantity(_ name: String) throws(VerificationError) -> Int64 {
    let quantity = try integer(name) ?? 1
    guard (0...1_000_000_000).contains(quantity) else { throw VerificationError(.malformed, "\(name) is \(quantity)") }
    return quantity
  }

  /// Apps can set only a UUID, so other text names no account.
  func accountToken(_ name: String) -> AccountToken? { json[name]?.string.flatMap { AccountToken($0) } }
}

/// Selects the decoded fields that facts do not hold, for `inspect`.
enum AppleDetails {
  static func ofTransaction(_ payload: JSONValue) -> [VerifiedEvidence.Detail] { details(payload, transactionFields) }

  static func ofRenewal(_ payload: JSONValue) -> [VerifiedEvidence.Detail] { details(payload, renewalFields) }

  static func ofNotification(_ payload: JSONValue) -> [VerifiedEvidence.Detail] { details(payload, notificationFields) }

  static func ofAppTransaction(_ payload: JSONValue) -> [VerifiedEvidence.Detail] {
    details(payload, appTransactionFields)
  }

  private static let appTransactionFields: Set<String> = [
    "bundleId", "appAppleId", "appTransactionId", "applicationVersion", "originalApplicationVersion",
    "originalPurchaseDate", "originalPlatform", "preorderDate",
  ]
  private static let transactionFields: Set<String> = [
    "bundleId", "originalPurchaseDate", "webOrderLineItemId", "subscriptionGroupIdentifier", "storefront",
    "storefrontId",
    "appTransactionId", "offerType", "offerIdentifier", "isUpgraded", "billingPlanType", "billingPeriodNumber",
    "totalBillingPeriods", "commitmentExpiresDate", "commitmentPrice", "previousOriginalTransactionId",
  ]
  private static let renewalFields: Set<String> = [
    "autoRenewProductId", "autoRenewStatus", "expirationIntent", "isInBillingRetryPeriod", "gracePeriodExpiresDate",
    "renewalDate", "renewalPrice", "currency", "renewalBillingPlanType", "commitmentAutoRenewProductId",
    "commitmentAutoRenewStatus", "commitmentRenewalBillingPlanType", "commitmentRenewalDate", "commitmentRenewalPrice",
  ]
  private static let notificationFields: Set<String> = [
    "bundleId", "appAppleId", "bundleVersion", "status", "consumptionRequestReason", "requestIdentifier", "productId",
    "succeededCount", "failedCount", "externalPurchaseId",
  ]

  private static func details(_ payload: JSONValue, _ names: Set<String>) -> [VerifiedEvidence.Detail] {
    var details: [VerifiedEvidence.Detail] = []
    // Commitments of twelve months are objects of their own (API 1.21).
    let inner = payload["commitmentInfo"]?.members ?? []
    for member in (payload.members ?? []) + inner where names.contains(member.name) {
      switch member.value {
      case .string(let text), .number(let text): if text.utf8.count <= 256 { details.append(.init(member.name, text)) }
      case .bool(let value): details.append(.init(member.name, value ? "true" : "false"))
      default: break
      }
    }
    return details
  }
}
