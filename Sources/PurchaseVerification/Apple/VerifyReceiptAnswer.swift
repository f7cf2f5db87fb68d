import Support

extension AppleVerifier {
  /// Decodes an archived response of `verifyReceipt`. It is unsigned: the operator vouches for it.
  func decode(answer: JSONValue, context: EvidenceContext, at now: Int64) throws(VerificationError) -> VerifiedEvidence
  {
    guard answer.members != nil else {
      throw VerificationError(.malformed, "an answer of verifyReceipt is a JSON object")
    }
    guard let status = answer["status"]?.integer else { return waiting("the answer has no status", context) }
    let isRetryable = answer["is-retryable"] ?? answer["is_retryable"]
    switch VerifyReceiptStatus(status, isRetryable: isRetryable?.flag) {
    case .permanent(let reason): throw VerificationError(.storeRefused, "status \(status): \(reason)")
    case .retryable(let reason, let remedy): return waiting("status \(status): \(reason)", remedy: remedy, context)
    case .valid: break
    }
    guard let receipt = answer["receipt"], receipt.members != nil else {
      return waiting("status 0, but the answer has no receipt", context)
    }
    let app = (receipt["bundle_id"] ?? receipt["bid"])?.string
    try identity.check(bundleID: app, in: "receipt")
    let (environment, mismatch) = try environment(of: answer, receipt, context)
    // Both are 0 in the sandbox, and old responses have neither.
    for name in ["adam_id", "app_item_id"] {
      guard let id = try AppleFields(receipt).integer(name), id != 0 else { continue }
      try identity.check(appAppleID: id, of: app, environment: environment, in: "receipt")
    }
    let unknown = try identity.check(environment, in: "receipt")
    let entries = Self.entries(of: answer, receipt)
    let signedDate = try Self.signedDate(of: receipt, entries)
    var facts: [StoreTransaction] = []
    var seen: Set<StoreTransaction> = []
    for entry in entries {
      let fact = try Self.fact(entry, environment, signedDate)
      if seen.insert(fact).inserted { facts.append(fact) }
    }
    var evidence = VerifiedEvidence(
      kind: .verifyReceipt, store: .apple, environment: environment, transactions: unknown == nil ? facts : [],
      signedDate: signedDate, quarantine: mismatch ?? unknown ?? facts.lazy.compactMap(\.inconsistency).first)
    if environment == .sandbox { evidence.addNote("sandbox") }
    if facts.isEmpty { evidence.addNote("no-transactions") }
    quarantineFuture(&evidence, signedDate, at: now)
    return evidence
  }

  /// Evidence in quarantine until the store is asked again.
  private func waiting(
    _ reason: String, remedy: String = "ask again", _ context: EvidenceContext
  ) -> VerifiedEvidence {
    VerifiedEvidence(
      kind: .verifyReceipt, store: .apple, environment: context.environment,
      quarantine: VerificationError(.retryLater, reason, remedy: remedy))
  }

  /// The environment, and the reason to quarantine if the response and its receipt name different ones.
  private func environment(
    of answer: JSONValue, _ receipt: JSONValue, _ context: EvidenceContext
  ) throws(VerificationError) -> (StoreEnvironment, VerificationError?) {
    let stated = try AppleFields(answer).word("environment").map { StoreEnvironment(storeText: $0) }
    let type = try AppleFields(receipt).word("receipt_type").map { AppReceipt.environment(ofReceiptType: $0) }
    guard let environment = stated ?? type ?? context.environment ?? identity.requiredEnvironment else {
      throw VerificationError(.incomplete, "the answer names no environment", remedy: "give it beside the evidence")
    }
    guard let stated, let type, stated != type else { return (environment, nil) }
    return (
      environment,
      VerificationError(
        .environmentMismatch,
        "the answer is of \(stated), but its receipt is of type \(receipt["receipt_type"]?.string ?? "")")
    )
  }

  /// The purchases, which are in `in_app`, in `latest_receipt_info`, or (iOS 6) in the receipt itself.
  private static func entries(of answer: JSONValue, _ receipt: JSONValue) -> [JSONValue] {
    let latest = answer["latest_receipt_info"]
    var entries = receipt["in_app"]?.array ?? []
    entries += latest?.array ?? latest.map { [$0] } ?? []
    if receipt["in_app"] == nil, receipt["transaction_id"] != nil { entries.append(receipt) }
    return entries
  }

  private static func signedDate(of receipt: JSONValue, _ entries: [JSONValue]) throws(VerificationError) -> Int64 {
    var latest = try StoreDate.read("request_date", in: receipt)
    if latest == nil {
      for entry in entries {
        for name in ["purchase_date", "cancellation_date"] {
          if let date = try StoreDate.read(name, in: entry) { latest = max(latest ?? date, date) }
        }
      }
    }
    if latest == nil { latest = try StoreDate.read("receipt_creation_date", in: receipt) }
    guard let latest else { throw VerificationError(.incomplete, "the answer has no date") }
    return try FieldRules.signingDate(latest, "date of the answer")
  }

  private static func fact(
    _ entry: JSONValue, _ environment: StoreEnvironment, _ signedDate: Int64
  ) throws(VerificationError) -> StoreTransaction {
    let fields = AppleFields(entry)
    let id = try fields.identifier("transaction_id")
    guard let purchaseDate = try StoreDate.read("purchase_date", in: entry) else {
      throw VerificationError(.incomplete, "transaction \(id) has no purchase date")
    }
    let cancellation = try StoreDate.read("cancellation_date", in: entry)
    let reason = try fields.word("cancellation_reason")
    return StoreTransaction(
      store: .apple, environment: environment, transactionID: id,
      originalTransactionID: try fields.optionalIdentifier("original_transaction_id") ?? id,
      productID: try fields.identifier("product_id"), purchaseDate: purchaseDate,
      expiresDate: try StoreDate.read("expires_date", in: entry), quantity: try fields.quantity("quantity"),
      ownership: OwnershipType(rawValue: try fields.word("in_app_ownership_type") ?? ""),
      appAccountToken: fields.accountToken("app_account_token"), signedDate: signedDate, trust: .unsigned,
      statement: cancellation == nil ? .purchased : .revoked,
      revocation: cancellation.map { Revocation(date: $0, reason: reason) })
  }
}

extension JSONValue {
  /// A boolean, which some responses write as 0 or 1.
  fileprivate var flag: Bool? { bool ?? integer.map { $0 != 0 } }
}

/// The meaning of `status` in a response of `verifyReceipt`.
enum VerifyReceiptStatus {
  case valid
  /// Asking again gives the same result.
  case permanent(String)
  /// The store did not evaluate the receipt, which revokes nothing.
  case retryable(String, remedy: String = "ask again")

  /// - Parameter isRetryable: `is-retryable` of the response, which accompanies 21100 to 21199.
  init(_ status: Int64, isRetryable: Bool?) {
    self =
      switch status {
      case 0: .valid
      case 21000: .permanent("the request was not an HTTP POST of JSON")
      case 21001: .permanent("the App Store no longer supports this request")
      case 21002: .permanent("the receipt was malformed or missing")
      case 21003: .permanent("the receipt could not be authenticated")
      case 21004: .retryable("the shared secret was wrong", remedy: "correct it and ask again")
      case 21005: .retryable("the receipt server was not available")
      case 21006: .permanent("the receipt is valid, but its subscription has expired")
      case 21007: .retryable("a sandbox receipt was sent to production", remedy: "ask the sandbox")
      case 21008: .retryable("a production receipt was sent to the sandbox", remedy: "ask production")
      case 21009: .retryable("the App Store failed")
      case 21010: .permanent("the customer's account was not found or is deleted")
      case 21100...21199:
        isRetryable == false
          ? .permanent("the App Store failed for good") : .retryable("the App Store failed")
      default: .retryable("a status that is not known here")
      }
  }
}
