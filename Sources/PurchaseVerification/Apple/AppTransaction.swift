import Support

extension AppleVerifier {
  /// Decodes an app transaction (`AppTransaction`): who has the app, and since which version. It names no purchase.
  func appTransaction(in opened: JWSVerifier.Opened) throws(VerificationError) -> VerifiedEvidence {
    let fields = AppleFields(opened.payload)
    try identity.check(bundleID: opened.payload["bundleId"]?.string, in: "app transaction")
    let named = opened.payload["receiptType"] == nil ? "environment" : "receiptType"
    guard let type = try fields.word(named) else {
      throw VerificationError(.incomplete, "receiptType is missing")
    }
    let environment = StoreEnvironment(storeText: type == "ProductionSandbox" ? "Sandbox" : type)
    let unknown = try identity.check(environment, in: "app transaction")
    try identity.check(
      appAppleID: try fields.integer("appAppleId"), of: opened.payload["bundleId"]?.string, environment: environment,
      in: "app transaction")
    guard let version = try fields.word("originalApplicationVersion") else {
      throw VerificationError(.incomplete, "originalApplicationVersion is missing")
    }
    guard let bought = try fields.date("originalPurchaseDate") else {
      throw VerificationError(.incomplete, "originalPurchaseDate is missing")
    }
    // Systems before iOS 18.4 state no id. The moment of a person's first download serves as one.
    let stated = try fields.optionalIdentifier("appTransactionId")
    let id = stated ?? "\(bought)-\(version.filter { !$0.isWhitespace })"
    var evidence = VerifiedEvidence(
      kind: .appTransaction, store: .apple, environment: environment, signedDate: opened.signedDate,
      quarantine: unknown, details: AppleDetails.ofAppTransaction(opened.payload))
    if environment == .sandbox { evidence.addNote("sandbox") }
    evidence.app = opened.payload["bundleId"]?.string
    let key = TransactionKey(store: .apple, environment: environment, id: "app:\(id)")
    evidence.traits = [
      TransactionTrait(key: key, .originalVersion, version),
      TransactionTrait(key: key, .originalPurchaseDate, "\(bought)"),
    ]
    return evidence
  }
}

extension VerifiedEvidence {
  /// Adds what a signed transaction says beside its fact.
  mutating func addTraits(of payload: JSONValue, _ fact: StoreTransaction) throws(VerificationError) {
    guard fact.environment.code != nil, let id = try AppleFields(payload).optionalIdentifier("appTransactionId") else {
      return
    }
    traits.append(TransactionTrait(key: fact.key, .appTransactionID, id))
  }

  /// Adds what renewal info says of a subscription.
  mutating func addTraits(ofRenewal payload: JSONValue, _ fact: RenewalFact) throws(VerificationError) {
    guard let original = fact.originalTransactionID, fact.environment.code != nil else { return }
    let fields = AppleFields(payload)
    let key = TransactionKey(store: .apple, environment: fact.environment, id: original)
    func add(_ name: TransactionTrait.Name, _ value: String?) {
      guard let value else { return }
      traits.append(TransactionTrait(key: key, name, value, date: fact.signedDate))
    }
    add(.graceUntil, "\(try fields.date("gracePeriodExpiresDate") ?? 0)")
    add(.billingRetry, payload["isInBillingRetryPeriod"]?.bool == true ? "true" : "false")
    add(.renewsAs, try fields.optionalIdentifier("autoRenewProductId"))
    add(.renews, try fields.integer("autoRenewStatus").map(String.init))
  }
}
