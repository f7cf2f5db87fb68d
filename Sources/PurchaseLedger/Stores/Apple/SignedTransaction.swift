import Support

/// The payload of a signed transaction (`JWSTransactionDecodedPayload`) as a fact.
struct SignedTransaction {
  let fact: StoreTransaction
  let bundleID: String?
  /// A contradiction in it, which must not be booked.
  let inconsistency: Refusal?

  init(_ payload: JSONValue, signedDate: Int64) throws(Refusal) {
    let fields = AppleFields(payload)
    let transactionID = try fields.identifier("transactionId")
    guard let environment = try fields.word("environment") else {
      throw Refusal(.incomplete, "environment is missing")
    }
    guard let purchaseDate = try fields.date("purchaseDate") else {
      throw Refusal(.incomplete, "purchaseDate is missing")
    }
    let revocation = try Self.revocation(fields)
    bundleID = payload["bundleId"]?.string
    fact = StoreTransaction(
      store: .apple, environment: StoreEnvironment(storeText: environment), transactionID: transactionID,
      originalTransactionID: try fields.optionalIdentifier("originalTransactionId") ?? transactionID,
      productID: try fields.identifier("productId"),
      productType: ProductType(rawValue: try fields.word("type") ?? ""), purchaseDate: purchaseDate,
      expiresDate: try fields.date("expiresDate"), quantity: try fields.quantity("quantity"),
      ownership: OwnershipType(rawValue: try fields.word("inAppOwnershipType") ?? ""),
      appAccountToken: fields.accountToken("appAccountToken"), price: try Self.price(fields),
      reason: try fields.word("transactionReason") ?? "", signedDate: signedDate, trust: .signed,
      statement: revocation == nil ? .purchased : .revoked, revocation: revocation)
    inconsistency = fact.inconsistency
  }

  private static func revocation(_ fields: AppleFields) throws(Refusal) -> Revocation? {
    guard let date = try fields.date("revocationDate") else { return nil }
    return Revocation(
      date: date, reason: try fields.word("revocationReason"),
      percentageMilli: try fields.integer("revocationPercentage"), type: try fields.word("revocationType"))
  }

  private static func price(_ fields: AppleFields) throws(Refusal) -> Money? {
    guard let milliunits = try fields.integer("price"), let currency = try fields.optionalIdentifier("currency")
    else { return nil }
    return Money(milliunits: milliunits, currency: currency)
  }
}

extension StoreTransaction {
  /// What a fact of any store must not say of itself.
  package var inconsistency: Refusal? {
    if let percentage = revocation?.percentageMilli, !(0...100_000).contains(percentage) {
      return Refusal(
        .inconsistent, "transaction \(transactionID) is refunded by \(percentage) thousandths of a percent")
    }
    if let expiresDate, expiresDate < purchaseDate {
      return Refusal(.inconsistent, "transaction \(transactionID) ends before it was bought")
    }
    if let currency = price?.currency, !Money.currencies.contains(currency) {
      return Refusal(
        .inconsistent, "transaction \(transactionID) was paid in \(currency.prefix(40)), which is no code of ISO 4217")
    }
    return nil
  }

  /// Whether only a share was given back.
  package var isPartiallyRefunded: Bool {
    guard let revocation, revocation.type != "FAMILY_REVOKE" else { return false }
    return (revocation.percentageMilli ?? 100_000) < 100_000 || (revocation.quantity ?? quantity) < quantity
  }
}
