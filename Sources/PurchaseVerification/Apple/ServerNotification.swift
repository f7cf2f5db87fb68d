import Support

extension AppleVerifier {
  /// Decodes an App Store Server Notification, version 2.
  ///
  /// The outer payload is already verified. The transaction and the renewal info in it are JWSs of their own and are
  /// verified here.
  func notification(in opened: JWSVerifier.Opened, trusted: Bool) async throws(VerificationError) -> VerifiedEvidence {
    let message = try NotificationPayload(opened)
    // A form that this version does not know may name its app elsewhere.
    if message.hasCarrier {
      try identity.check(bundleID: message.bundleID, in: "notification")
      if let environment = message.environment {
        try identity.check(
          appAppleID: message.appAppleID, of: message.bundleID, environment: environment, in: "notification")
      }
    }
    var evidence = VerifiedEvidence(
      kind: .notification, store: .apple, environment: message.environment, signedDate: opened.signedDate,
      details: AppleDetails.ofNotification(message.carrier))
    evidence.app = message.bundleID
    if let environment = message.environment {
      evidence.quarantine = try identity.check(environment, in: "notification")
      if environment == .sandbox { evidence.addNote("sandbox") }
    }
    if !NotificationPayload.knownTypes.contains(message.type) { evidence.addNote("unknown-type") }
    if let text = message.signedTransaction {
      try await addTransaction(Array(text.utf8), to: &evidence, of: message, trusted: trusted)
    }
    if let text = message.signedRenewal {
      try await addRenewal(Array(text.utf8), to: &evidence, of: message, trusted: trusted)
    }
    evidence.notification = NotificationFact(
      store: .apple, environment: message.environment, uuid: message.uuid, type: message.type, subtype: message.subtype,
      signedDate: opened.signedDate, transaction: evidence.transactions.first?.key)
    return evidence
  }

  private func addTransaction(
    _ bytes: [UInt8], to evidence: inout VerifiedEvidence, of message: NotificationPayload, trusted: Bool
  ) async throws(VerificationError) {
    let opened = try await jws.open(bytes, trusted: trusted)
    guard AppleFormat.kind(of: opened.payload) == .transaction else {
      throw VerificationError(.wrongKind, "the notification's transaction is something else, by its fields")
    }
    let signed = try SignedTransaction(opened.payload, signedDate: opened.signedDate)
    try identity.check(bundleID: signed.bundleID, in: "notification's transaction")
    // Both layers must name the same app, even if no bundle id is configured.
    if let outer = message.bundleID, signed.bundleID != outer {
      throw VerificationError(
        .wrongBundle, "the notification is of \(outer), its transaction of \(signed.bundleID ?? "no app")")
    }
    var fact = signed.fact
    let unknown = try identity.check(fact.environment, in: "notification's transaction")
    message.settle(&fact)
    evidence.quarantine =
      evidence.quarantine ?? unknown ?? mismatch(fact.environment, message, "transaction") ?? signed.inconsistency
      ?? opened.inconsistency
    if fact.environment.code != nil { evidence.transactions = [fact] }
    evidence.addNotes(about: fact)
    evidence.note(signed)
    if var earlier = signed.earlier {
      message.settle(&earlier)
      evidence.earlierTransactions = [earlier]
    }
    try evidence.addTraits(of: opened.payload, fact)
    evidence.details += AppleDetails.ofTransaction(opened.payload)
  }

  private func addRenewal(
    _ bytes: [UInt8], to evidence: inout VerifiedEvidence, of message: NotificationPayload, trusted: Bool
  ) async throws(VerificationError) {
    let opened = try await jws.open(bytes, trusted: trusted)
    guard AppleFormat.kind(of: opened.payload) == .renewal else {
      throw VerificationError(.wrongKind, "the notification's renewal info is something else, by its fields")
    }
    let fact = try renewalFact(in: opened)
    let unknown = try identity.check(fact.environment, in: "notification's renewal info")
    evidence.quarantine =
      evidence.quarantine ?? unknown ?? mismatch(fact.environment, message, "renewal info") ?? opened.inconsistency
    evidence.renewal = fact
    try evidence.addTraits(ofRenewal: opened.payload, fact)
  }

  private func mismatch(_ inner: StoreEnvironment, _ message: NotificationPayload, _ layer: String)
    -> VerificationError?
  {
    guard let outer = message.environment, outer != inner else { return nil }
    return VerificationError(.environmentMismatch, "the notification is of \(outer), its \(layer) of \(inner)")
  }
}

/// The outer payload of a notification, version 2 (`responseBodyV2DecodedPayload`).
struct NotificationPayload {
  let uuid: String
  let type: String
  let subtype: String?
  let signedDate: Int64
  /// The member that names the app: `data`, `summary`, `externalPurchaseToken` or `appData`. Empty if there is none.
  let carrier: JSONValue
  let environment: StoreEnvironment?
  let bundleID: String?
  let appAppleID: Int64?
  let signedTransaction: String?
  let signedRenewal: String?

  /// Whether the payload has a member that names the app.
  var hasCarrier: Bool { carrier.members?.isEmpty == false }

  /// The documented types. Others are recorded as received, with the note `unknown-type`.
  static let knownTypes: Set<String> = [
    "CONSUMPTION_REQUEST", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "DID_FAIL_TO_RENEW", "DID_RENEW",
    "EXPIRED", "EXTERNAL_PURCHASE_TOKEN", "GRACE_PERIOD_EXPIRED", "METADATA_UPDATE", "MIGRATION", "OFFER_REDEEMED",
    "ONE_TIME_CHARGE", "PRICE_CHANGE", "PRICE_INCREASE", "REFUND", "REFUND_DECLINED", "REFUND_REVERSED",
    "RENEWAL_EXTENDED", "RENEWAL_EXTENSION", "RESCIND_CONSENT", "REVOKE", "SUBSCRIBED", "TEST",
  ]

  init(_ opened: JWSVerifier.Opened) throws(VerificationError) {
    let fields = AppleFields(opened.payload)
    uuid = try fields.identifier("notificationUUID")
    guard let type = try fields.word("notificationType") else {
      throw VerificationError(.incomplete, "notificationType is missing")
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
      // External purchase tokens state the environment only as a prefix of their id.
      environment = token.hasPrefix("SANDBOX") ? .sandbox : .production
    } else {
      environment = nil
    }
    signedTransaction = carrier["signedTransactionInfo"]?.string
    signedRenewal = carrier["signedRenewalInfo"]?.string
  }

  /// Falls back to the first member with a bundle id, for types that this version does not know.
  private static func carrier(in payload: JSONValue) -> JSONValue {
    for name in ["data", "summary", "externalPurchaseToken", "appData"] {
      if let value = payload[name], value.members != nil { return value }
    }
    return payload.members?.first { $0.value["bundleId"] != nil }?.value ?? .object([])
  }

  /// Lets the notification's type override the statement of its transaction.
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
