import Support

/// The current interface's answer about a purchase, `purchases.productsv2` (`ProductPurchaseV2`).
extension GoogleVerifier {
  /// Decodes an answer: a transaction for each line item (``StoreTransaction/split(among:)``).
  func orderedProducts(
    _ answer: GoogleAnswer, _ context: EvidenceContext
  ) throws(VerificationError) -> VerifiedEvidence {
    let (body, fields) = (answer.body, GoogleFields(value: answer.body))
    let package = try fields.identifier("packageName") ?? context.packageName
    try checkPackage(package, isRequired: false)
    let token = try fields.token() ?? context.purchaseToken
    if let token { _ = try FieldRules.identifier(token, "purchaseToken", bytesMax: 4096) }
    let items = body["productLineItem"]?.array ?? []
    guard !items.isEmpty else { throw VerificationError(.incomplete, "productLineItem is missing") }
    guard let id = try fields.identifier("orderId") ?? token else {
      throw VerificationError(.incomplete, "orderId and purchaseToken are missing", remedy: "give the token beside it")
    }
    let state = body["purchaseStateContext"]?["purchaseState"]?.string ?? ""
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
    let account = try fields.account("obfuscatedExternalAccountId")
    let purchase = StoreTransaction(
      store: .google, environment: isTest ? .sandbox : .production, transactionID: id,
      originalTransactionID: GoogleFields.original(of: id), productID: nil, purchaseDate: date,
      appAccountToken: account?.token,
      purchaseToken: token,
      isAcknowledged: body["acknowledgementState"]?.string == "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
      signedDate: date, trust: .unsigned, statement: statement,
      revocation: statement == .revoked ? Revocation(date: date, reason: "cancelled") : nil)
    let lines = try items.map { item throws(VerificationError) in try LineItem(item) }
    found.transactions = zip(purchase.split(among: lines.map(\.product)), lines).map { $1.completed($0) }
    found.addTraits(of: account)
    if statement == .pending { found.notes.append("pending") }
    found.isNamedBeside = body["purchaseToken"] == nil && context.purchaseToken != nil
    let isOfOther = context.productID.map { asked in !lines.contains { $0.product == asked } } ?? false
    if isOfOther || token != (context.purchaseToken ?? token) {
      found.quarantine = VerificationError(.inconsistent, "names another product or token than the request did")
    } else if Set(lines.map(\.product)).count < lines.count {
      found.quarantine = VerificationError(.inconsistent, "names a product in two line items")
    } else {
      found.quarantine = body.repetition
    }
    return found
  }

  /// One product of an order.
  private struct LineItem {
    let product: String
    private let quantity: Int64
    /// What was not refunded of it; nil where it is not said.
    private let left: Int64?
    private let isConsumed: Bool
    /// A rental ends, and its end is not stated here: it grants nothing for ever.
    private let isRented: Bool

    init(_ item: JSONValue) throws(VerificationError) {
      guard let product = try GoogleFields(value: item).identifier("productId") else {
        throw VerificationError(.incomplete, "productId of the line item is missing")
      }
      self.product = product
      let offer = item["productOfferDetails"] ?? .object([])
      quantity = max(1, try GoogleFields(value: offer).count("quantity") ?? 1)
      left = try GoogleFields(value: offer).count("refundableQuantity")
      isConsumed = offer["consumptionState"]?.string == "CONSUMPTION_STATE_CONSUMED"
      isRented = offer["rentOfferDetails"] != nil
    }

    func completed(_ purchase: StoreTransaction) -> StoreTransaction {
      var purchase = purchase
      purchase.quantity = quantity
      purchase.productType = isConsumed || isRented ? .consumable : .unknown
      if left == 0, purchase.statement == .purchased {
        purchase.statement = .revoked
        purchase.revocation = Revocation(date: purchase.purchaseDate, reason: "refunded")
      }
      return purchase
    }
  }

  private func completionTime(_ body: JSONValue) throws(VerificationError) -> Int64? {
    guard let text = body["purchaseCompletionTime"]?.string else { return nil }
    guard let date = RFC3339.milliseconds(text) else {
      throw VerificationError(.malformed, "purchaseCompletionTime is no date of RFC 3339")
    }
    return try FieldRules.date(date, "purchaseCompletionTime")
  }
}

extension StoreTransaction {
  /// The transactions of a purchase of several products, which Google names by one order: the first keeps the order's
  /// id, as where it is alone; the others have `ORDER/PRODUCT`.
  package func split(among products: [String]) -> [StoreTransaction] {
    products.enumerated().map { index, product in
      var own = self
      own.productID = product
      if index > 0 {
        own.transactionID += "/\(product)"
        own.originalTransactionID = own.transactionID
      }
      return own
    }
  }
}
