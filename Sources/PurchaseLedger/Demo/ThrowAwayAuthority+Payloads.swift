import Support

extension ThrowAwayAuthority {
  /// A signed transaction that says what `fact` says, in Apple's field names.
  ///
  /// - Parameter extra: More members, as JSON text without braces (`"storefront":"USA"`).
  package func transaction(_ fact: StoreTransaction, bundleID: String, extra: String = "") throws -> [UInt8] {
    try sign(Self.payload(of: fact, bundleID: bundleID, extra: extra).utf8)
  }

  /// A notification of version 2 around a signed transaction, or around none.
  package func notification(
    type: String, subtype: String? = nil, uuid: String, signedDate: Int64, environment: StoreEnvironment,
    bundleID: String, appAppleID: Int64? = nil, transaction: [UInt8]? = nil, renewal: [UInt8]? = nil
  ) throws -> [UInt8] {
    var data = ["\"bundleId\":\(quoted(bundleID))", "\"environment\":\(quoted(environment.rawValue))"]
    if let appAppleID { data.append("\"appAppleId\":\(appAppleID)") }
    if let transaction {
      data.append("\"signedTransactionInfo\":\(quoted(String(decoding: transaction, as: UTF8.self)))")
    }
    if let renewal { data.append("\"signedRenewalInfo\":\(quoted(String(decoding: renewal, as: UTF8.self)))") }
    var members = ["\"notificationType\":\(quoted(type))"]
    if let subtype { members.append("\"subtype\":\(quoted(subtype))") }
    members.append("\"notificationUUID\":\(quoted(uuid))")
    members.append("\"version\":\"2.0\"")
    members.append("\"signedDate\":\(signedDate)")
    members.append("\"data\":{\(data.joined(separator: ","))}")
    return try sign("{\(members.joined(separator: ","))}".utf8)
  }

  /// The JSON of a signed transaction's payload.
  package static func payload(of fact: StoreTransaction, bundleID: String, extra: String = "") -> String {
    var json = "{\"transactionId\":\(quoted(fact.transactionID))"
    json += ",\"originalTransactionId\":\(quoted(fact.originalTransactionID))"
    json += ",\"bundleId\":\(quoted(bundleID)),\"productId\":\(quoted(fact.productID ?? ""))"
    json += ",\"purchaseDate\":\(fact.purchaseDate),\"quantity\":\(fact.quantity)"
    json += ",\"type\":\(quoted(fact.productType.rawValue)),\"inAppOwnershipType\":\(quoted(fact.ownership.rawValue))"
    json += ",\"signedDate\":\(fact.signedDate),\"environment\":\(quoted(fact.environment.rawValue))"
    if !fact.reason.isEmpty { json += ",\"transactionReason\":\(quoted(fact.reason))" }
    if let date = fact.expiresDate { json += ",\"expiresDate\":\(date)" }
    if let token = fact.appAccountToken { json += ",\"appAccountToken\":\"\(token)\"" }
    if let price = fact.price { json += ",\"price\":\(price.milliunits),\"currency\":\(quoted(price.currency))" }
    if let revocation = fact.revocation {
      json += ",\"revocationDate\":\(revocation.date)"
      if let reason = revocation.reason { json += ",\"revocationReason\":\(reason)" }
      if let percentage = revocation.percentageMilli { json += ",\"revocationPercentage\":\(percentage)" }
      if let type = revocation.type { json += ",\"revocationType\":\(quoted(type))" }
    }
    return json + (extra.isEmpty ? "" : ",\(extra)") + "}"
  }
}

private func quoted(_ text: String) -> String { text.quotedAsJSON }
