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
    // The time of the payment, which a pending purchase has not yet; a fact needs a time.
    let completed = try fields.time("purchaseCompletionTime")
    let bought = context.purchaseDate ?? completed
    found.signedDate = [bought, completed].compactMap(\.self).max()
    guard let statement = statements[state], let bought, let date = found.signedDate else {
      found.notes.append(state == "PENDING" ? "pending" : "unknown-type")
      found.notes.append("no-transactions")
      return found
    }
    let account = try fields.account("obfuscatedExternalAccountId")
    let lines = try items.map { item throws(VerificationError) in try LineItem(item) }
      .sorted { $0.product.utf8.lexicographicallyPrecedes($1.product.utf8) }
    for line in lines { found.details += line.details }
    let purchase = StoreTransaction(
      store: .google, environment: isTest ? .sandbox : .production, transactionID: id,
      originalTransactionID: GoogleFields.original(of: id), productID: nil, purchaseDate: bought,
      appAccountToken: account?.token,
      purchaseToken: token,
      isAcknowledged: body["acknowledgementState"]?.string == "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
      signedDate: date, trust: .unsigned, statement: statement,
      revocation: statement == .revoked ? Revocation(date: date, reason: "cancelled") : nil)
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
    /// The purchase option and the offer, for people.
    let details: [VerifiedEvidence.Detail]

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
      var details = ["purchaseOptionId", "offerId"].compactMap { name in
        offer[name]?.string.map { VerifiedEvidence.Detail(name, String($0.prefix(80))) }
      }
      if isRented { details.append(.init("rental", product)) }
      if offer["preorderOfferDetails"] != nil { details.append(.init("preorder", product)) }
      self.details = details
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
}

extension StoreTransaction {
  /// The transactions of a purchase of several products, which Google names by one order: the product that sorts first
  /// keeps the order's id, as where it is alone; the others have `ORDER/PRODUCT`. In the order of the products, because
  /// Google's texts and answers list them in orders of their own.
  package func split(among products: [String]) -> [StoreTransaction] {
    products.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.enumerated().map { index, product in
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
