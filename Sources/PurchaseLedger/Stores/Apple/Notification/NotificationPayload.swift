import Support

/// The outer payload of a version 2 notification (`responseBodyV2DecodedPayload`).
struct NotificationPayload {
  let uuid: String
  let type: String
  let subtype: String?
  let signedDate: Int64
  /// The member that names the app: `data`, `summary`, `externalPurchaseToken`, `appData`; empty without one.
  let carrier: JSONValue
  let environment: StoreEnvironment?
  let bundleID: String?
  let appAppleID: Int64?
  let signedTransaction: String?
  let signedRenewal: String?

  var hasCarrier: Bool { carrier.members?.isEmpty == false }

  /// Those that say something; others are kept raw and noted.
  static let knownTypes: Set<String> = [
    "CONSUMPTION_REQUEST", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "DID_FAIL_TO_RENEW", "DID_RENEW",
    "EXPIRED", "EXTERNAL_PURCHASE_TOKEN", "GRACE_PERIOD_EXPIRED", "METADATA_UPDATE", "MIGRATION", "OFFER_REDEEMED",
    "ONE_TIME_CHARGE", "PRICE_CHANGE", "PRICE_INCREASE", "REFUND", "REFUND_DECLINED", "REFUND_REVERSED",
    "RENEWAL_EXTENDED", "RENEWAL_EXTENSION", "RESCIND_CONSENT", "REVOKE", "SUBSCRIBED", "TEST",
  ]

  init(_ opened: JWSVerifier.Opened) throws(Refusal) {
    let fields = AppleFields(opened.payload)
    uuid = try fields.identifier("notificationUUID")
    guard let type = try fields.word("notificationType") else {
      throw Refusal(.incomplete, "notificationType is missing")
    }
    self.type = type
    subtype = try fields.word("subtype")
    signedDate = opened.signedDate
    carrier = Self.carrier(in: opened.payload)
    let inner = AppleFields(carrier)
    bundleID = carrier["bundleId"]?.string
    appAppleID = try inner.integer("appAppleId")
    if let text = try inner.word("environment") {
      environment = StoreEnvironment(storeText: text)
    } else if let token = carrier["externalPurchaseId"]?.string {
      // Tokens of external purchases say it in their id only.
      environment = token.hasPrefix("SANDBOX") ? .sandbox : .production
    } else {
      environment = nil
    }
    signedTransaction = carrier["signedTransactionInfo"]?.string
    signedRenewal = carrier["signedRenewalInfo"]?.string
  }

  /// A new kind of message is looked through for the member that names an app.
  private static func carrier(in payload: JSONValue) -> JSONValue {
    for name in ["data", "summary", "externalPurchaseToken", "appData"] {
      if let value = payload[name], value.members != nil { return value }
    }
    return payload.members?.first { $0.value["bundleId"] != nil }?.value ?? .object([])
  }

  /// The message's type has the last word on the statement of the transaction it carries.
  func settle(_ fact: inout StoreTransaction) {
    switch type {
    case "REFUND_REVERSED":
      fact.statement = .reversed
      fact.revocation = nil
    case "REFUND", "REVOKE":
      fact.statement = .revoked
      fact.revocation = fact.revocation ?? Revocation(date: signedDate)
    default: break
    }
  }
}
