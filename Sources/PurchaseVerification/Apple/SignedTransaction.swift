import Support

/// The payload of a signed transaction (`JWSTransactionDecodedPayload`), decoded to a fact.
struct SignedTransaction {
  let fact: StoreTransaction
  let bundleID: String?
  /// Why the stated price cannot be used; nil if it can, or if there is none.
  let priceFault: String?
  /// The fact as earlier versions read it, if it differs: they cut off the fraction of a price.
  let earlier: StoreTransaction?
  /// A contradiction between fields, which quarantines the transaction.
  let inconsistency: VerificationError?

  init(_ payload: JSONValue, signedDate: Int64) throws(VerificationError) {
    let fields = AppleFields(payload)
    let transactionID = try fields.identifier("transactionId")
    guard let environment = try fields.word("environment") else {
      throw VerificationError(.incomplete, "environment is missing")
    }
    guard let purchaseDate = try fields.date("purchaseDate") else {
      throw VerificationError(.incomplete, "purchaseDate is missing")
    }
    let revocation = try Self.revocation(fields)
    let price = try Self.price(fields)
    priceFault = Self.priceFault(payload, price)
    bundleID = payload["bundleId"]?.string
    var fact = StoreTransaction(
      store: .apple, environment: StoreEnvironment(storeText: environment), transactionID: transactionID,
      originalTransactionID: try fields.optionalIdentifier("originalTransactionId") ?? transactionID,
      productID: try fields.identifier("productId"),
      productType: ProductType(rawValue: try fields.word("type") ?? ""), purchaseDate: purchaseDate,
      expiresDate: try fields.date("expiresDate"), quantity: try fields.quantity("quantity"),
      ownership: OwnershipType(rawValue: try fields.word("inAppOwnershipType") ?? ""),
      appAccountToken: fields.accountToken("appAccountToken"), price: price,
      reason: try fields.word("transactionReason") ?? "", signedDate: signedDate, trust: .signed,
      statement: revocation == nil ? .purchased : .revoked, revocation: revocation)
    inconsistency = fact.inconsistency
    earlier = price != nil && payload["price"]?.hasFraction == true ? fact : nil
    // Apple counts in whole thousandths: a fraction says that its unit is another one, which nobody can guess.
    if earlier != nil { fact.price = nil }
    self.fact = fact
  }

  private static func priceFault(_ payload: JSONValue, _ price: Money?) -> String? {
    guard let stated = payload["price"], !stated.isEmptyText else { return nil }
    let text = stated.text.prefix(40)
    if stated.hasFraction { return "the price \(text) is not a whole number of thousandths" }
    guard let price else { return "the price \(text) names no currency" }
    if price.milliunits < 0 { return "the price \(text) is negative" }
    return price.namesCurrency ? nil : "the price \(text) is in \(price.currency), which is not a currency of payment"
  }

  private static func revocation(_ fields: AppleFields) throws(VerificationError) -> Revocation? {
    guard let date = try fields.date("revocationDate") else { return nil }
    return Revocation(
      date: date, reason: try fields.word("revocationReason"),
      percentageMilli: try fields.integer("revocationPercentage"), type: try fields.word("revocationType"))
  }

  private static func price(_ fields: AppleFields) throws(VerificationError) -> Money? {
    guard let milliunits = try fields.integer("price"), let currency = try fields.optionalIdentifier("currency")
    else { return nil }
    return Money(milliunits: milliunits, currency: currency)
  }
}

extension VerifiedEvidence {
  /// Notes a price that cannot be used, and what earlier versions took it for.
  mutating func note(_ signed: SignedTransaction) {
    earlierTransactions = signed.earlier.map { [$0] } ?? []
    guard let fault = signed.priceFault else { return }
    addNote("unusable-price")
    details.append(.init("unusablePrice", fault))
  }
}

// MARK: - Signed transactions and renewal info as evidence

extension AppleVerifier {
  func transaction(in opened: JWSVerifier.Opened) throws(VerificationError) -> VerifiedEvidence {
    let signed = try SignedTransaction(opened.payload, signedDate: opened.signedDate)
    // Apple leaves the bundle id out of a few transactions that people have paid for.
    var unnamed: VerificationError?
    if signed.bundleID == nil, !identity.bundleIDs.isEmpty {
      unnamed = VerificationError(
        .incomplete, "the transaction names no bundle id", remedy: "ask the store for this transaction again")
    } else {
      try identity.check(bundleID: signed.bundleID, in: "transaction")
    }
    let fact = signed.fact
    let unknown = try identity.check(fact.environment, in: "transaction")
    var evidence = VerifiedEvidence(
      kind: .transaction, store: .apple, environment: fact.environment, transactions: unknown == nil ? [fact] : [],
      signedDate: opened.signedDate, quarantine: unknown ?? unnamed ?? signed.inconsistency,
      details: AppleDetails.ofTransaction(opened.payload))
    evidence.app = signed.bundleID
    if unknown == nil { try evidence.addTraits(of: opened.payload, fact) }
    evidence.addNotes(about: fact)
    evidence.note(signed)
    return evidence
  }

  func renewal(in opened: JWSVerifier.Opened) throws(VerificationError) -> VerifiedEvidence {
    let fact = try renewalFact(in: opened)
    let unknown = try identity.check(fact.environment, in: "renewal info")
    var evidence = VerifiedEvidence(
      kind: .renewal, store: .apple, environment: fact.environment, renewal: fact, signedDate: opened.signedDate,
      quarantine: unknown, notes: fact.environment == .sandbox ? ["sandbox"] : [],
      details: AppleDetails.ofRenewal(opened.payload))
    try evidence.addTraits(ofRenewal: opened.payload, fact)
    return evidence
  }

  func renewalFact(in opened: JWSVerifier.Opened) throws(VerificationError) -> RenewalFact {
    let fields = AppleFields(opened.payload)
    guard let environment = try fields.word("environment") else {
      throw VerificationError(.incomplete, "the renewal info names no environment")
    }
    return RenewalFact(
      environment: StoreEnvironment(storeText: environment),
      originalTransactionID: try fields.optionalIdentifier("originalTransactionId"),
      productID: try fields.optionalIdentifier("productId"), signedDate: opened.signedDate)
  }
}
