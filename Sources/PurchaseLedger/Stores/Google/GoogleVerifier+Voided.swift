import Support

extension GoogleVerifier {
  /// A page of `purchases.voidedpurchases.list`: each entry revokes at the time of voiding, which is later than the purchase.
  func voided(_ answer: GoogleAnswer, _ context: EvidenceContext) throws(Refusal) -> VerifiedEvidence {
    try checkPackage(context.packageName, isRequired: false)
    let entries = answer.body["voidedPurchases"]
    guard answer.isEmpty || entries?.array != nil || answer.body["tokenPagination"] != nil else {
      throw Refusal(.malformed, "voidedPurchases is missing")
    }
    var found = VerifiedEvidence(kind: .googleVoided, store: .google, environment: nil)
    var seen: Set<StoreTransaction> = []
    for entry in entries?.array ?? [] {
      let transaction = try voidedPurchase(GoogleFields(value: entry), environment(context))
      guard seen.insert(transaction).inserted else { continue }
      found.transactions.append(transaction)
      found.signedDate = max(found.signedDate ?? 0, transaction.signedDate)
      if transaction.revocation?.quantity != nil, !found.notes.contains("partial-refund") {
        found.notes.append("partial-refund")
      }
    }
    if found.transactions.isEmpty { found.notes.append("no-transactions") }
    found.details.append(.init("voidedPurchases", "\(found.transactions.count)"))
    return found
  }

  private func voidedPurchase(
    _ fields: GoogleFields, _ environment: StoreEnvironment
  ) throws(Refusal) -> StoreTransaction {
    let (order, token) = (try fields.identifier("orderId"), try fields.token())
    guard let id = order ?? token else { throw Refusal(.incomplete, "an entry has neither orderId nor purchaseToken") }
    guard let voidedAt = try fields.date("voidedTimeMillis") else {
      throw Refusal(.incomplete, "voidedTimeMillis of \(id) is missing")
    }
    let purchasedAt = try fields.date("purchaseTimeMillis") ?? voidedAt
    return StoreTransaction(
      store: .google, environment: environment, transactionID: id,
      originalTransactionID: order.map(GoogleFields.original) ?? id, productID: nil, purchaseDate: purchasedAt,
      purchaseToken: token, signedDate: voidedAt, trust: .unsigned, statement: .revoked,
      revocation: Revocation(
        date: voidedAt, reason: try fields.count("voidedReason").map(String.init),
        quantity: try fields.count("voidedQuantity")))
  }
}
