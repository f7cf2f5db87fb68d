import Support

/// The current interface's answer about a purchase, `purchases.productsv2` (`ProductPurchaseV2`).
extension GoogleVerifier {
  /// Decodes an answer with one line item. Several products of one order are not taken yet: the list of voided
  /// purchases names the order alone, so a refund would take back only one of them.
  func orderedProducts(
    _ answer: GoogleAnswer, _ context: EvidenceContext
  ) throws(VerificationError) -> VerifiedEvidence {
    let (body, fields) = (answer.body, GoogleFields(value: answer.body))
    let package = try fields.identifier("packageName") ?? context.packageName
    try checkPackage(package, isRequired: false)
    let token = try fields.token() ?? context.purchaseToken
    if let token { _ = try FieldRules.identifier(token, "purchaseToken", bytesMax: 4096) }
    let items = body["productLineItem"]?.array ?? []
    guard let item = items.first else { throw VerificationError(.incomplete, "productLineItem is missing") }
    guard let product = try GoogleFields(value: item).identifier("productId") else {
      throw VerificationError(.incomplete, "productId of the line item is missing")
    }
    guard let id = try fields.identifier("orderId") ?? token else {
      throw VerificationError(.incomplete, "orderId and purchaseToken are missing", remedy: "give the token beside it")
    }
    let state = body["purchaseStateContext"]?["purchaseState"]?.string ?? ""
    let offer = item["productOfferDetails"]
    let isTest = body["testPurchaseContext"] != nil
    var found = VerifiedEvidence(
      kind: .googleProduct, store: .google, environment: isTest ? .sandbox : .production,
      details: package.map { [.init("packageName", $0)] } ?? [])
    found.details.append(.init("purchaseState", String(state.prefix(80))))
    if isTest { found.notes.append("sandbox") }
    let statements: [String: Statement] = ["PURCHASED": .purchased, "CANCELLED": .revoked, "PENDING": .pending]
    let date = try completionTime(body)
    found.signedDate = date
    guard let statement = statements[state], let date else {
      // A pending purchase has no time yet, and its fact needs one.
      found.notes.append(state == "PENDING" ? "pending" : "unknown-type")
      found.notes.append("no-transactions")
      return found
    }
    let account = try fields.identifier("obfuscatedExternalAccountId")
    let isConsumed = offer?["consumptionState"]?.string == "CONSUMPTION_STATE_CONSUMED"
    // A rental ends, and its end is not stated here: it grants nothing for ever.
    let isRented = offer?["rentOfferDetails"] != nil
    found.transactions = [
      StoreTransaction(
        store: .google, environment: isTest ? .sandbox : .production, transactionID: id,
        originalTransactionID: GoogleFields.original(of: id), productID: product,
        productType: isConsumed || isRented ? .consumable : .unknown, purchaseDate: date,
        quantity: max(
          1,
          try offer.map { value throws(VerificationError) in
            try GoogleFields(value: value).count("quantity") ?? 1
          } ?? 1),
        appAccountToken: account.flatMap(AccountToken.init), reason: "", purchaseToken: token,
        isAcknowledged: body["acknowledgementState"]?.string == "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
        signedDate: date, trust: .unsigned, statement: statement,
        revocation: statement == .revoked ? Revocation(date: date, reason: "cancelled") : nil)
    ]
    if statement == .pending { found.notes.append("pending") }
    found.isNamedBeside = body["purchaseToken"] == nil && context.purchaseToken != nil
    if items.count > 1 {
      found.quarantine = VerificationError(
        .inconsistent, "an order of \(items.count) products, of which this version takes one",
        remedy: "import it again with a later version")
    } else if product != (context.productID ?? product) || token != (context.purchaseToken ?? token) {
      found.quarantine = VerificationError(.inconsistent, "names another product or token than the request did")
    } else {
      found.quarantine = body.repetition
    }
    return found
  }

  private func completionTime(_ body: JSONValue) throws(VerificationError) -> Int64? {
    guard let text = body["purchaseCompletionTime"]?.string else { return nil }
    guard let date = RFC3339.milliseconds(text) else {
      throw VerificationError(.malformed, "purchaseCompletionTime is no date of RFC 3339")
    }
    return try FieldRules.date(date, "purchaseCompletionTime")
  }
}
