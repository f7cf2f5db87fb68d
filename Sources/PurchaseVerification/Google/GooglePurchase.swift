import Support

/// Purchases: the signed JSON of the billing library and the `purchases.products` resource of the API.
extension GoogleVerifier {
  /// Verifies a purchase with the licensing key's signature, as the billing library passes it to the app.
  func signedPurchase(
    _ answer: GoogleAnswer, _ context: EvidenceContext, trusted: Bool
  ) throws(VerificationError) -> VerifiedEvidence {
    guard let signed = answer.signed else { throw VerificationError(.unsigned, "a signature is missing") }
    let fields = GoogleFields(value: answer.body)
    let bought = Result { () throws(VerificationError) in try fields.date("purchaseTime") }
    if !trusted { try checkSignature(signed.signature, of: signed.text, at: (try? bought.get()) ?? 0) }
    let package = try fields.identifier("packageName")
    try checkPackage(package, isRequired: true)
    guard let date = try bought.get() else {
      throw VerificationError(.incomplete, "purchaseTime is missing")
    }
    guard let product = try fields.identifier("productId") else {
      throw VerificationError(.incomplete, "productId is missing")
    }
    // The numbers differ from the API's: 0 purchased, 1 cancelled, 2 refunded (before 2014), 4 pending.
    let states: [Int64: Statement] = [0: .purchased, 1: .revoked, 2: .revoked, 4: .pending]
    let isSubscription = answer.body["autoRenewing"] != nil
    var found = try evidence(
      .googlePurchase, fields, (try fields.count("purchaseState") ?? 0, states), product: product,
      token: try fields.token(), date: date, environment: environment(context), names: false,
      type: isSubscription ? .autoRenewable : .unknown,
      isAcknowledged: answer.body["acknowledged"]?.bool ?? false, trust: .signed,
      details: package.map { [.init("packageName", $0)] } ?? [])
    let others = try Self.products(answer.body).filter { $0 != product }
    if let purchase = found.transactions.first { found.transactions = purchase.split(among: [product] + others) }
    found.quarantine = answer.body.repetition
    return found
  }

  /// The products of an order, where it names several.
  private static func products(_ body: JSONValue) throws(VerificationError) -> [String] {
    var products: [String] = []
    for value in body["productIds"]?.array ?? [] {
      guard let text = value.identifier else { throw VerificationError(.malformed, "productIds holds no text") }
      let product = try FieldRules.identifier(text, "productIds")
      if !products.contains(product) { products.append(product) }
    }
    return products
  }

  /// Decodes a `purchases.products` resource. Values that only the request names come from the context.
  func product(_ answer: GoogleAnswer, _ context: EvidenceContext) throws(VerificationError) -> VerifiedEvidence {
    if answer.body == .null, let status = answer.status {
      // The response to `acknowledge`, which does not name the purchase.
      return VerifiedEvidence(
        kind: .googleProduct, store: .google, environment: nil, notes: ["no-transactions"],
        details: [.init("httpStatus", "\(status)")])
    }
    guard answer.signed == nil else { throw VerificationError(.wrongKind, "this is a signed purchase") }
    if answer.body["productLineItem"] != nil || answer.body["purchaseStateContext"] != nil {
      return try orderedProducts(answer, context)
    }
    let fields = GoogleFields(value: answer.body)
    let package = try fields.identifier("packageName") ?? context.packageName
    try checkPackage(package, isRequired: false)
    guard let date = try fields.date("purchaseTimeMillis") else {
      throw VerificationError(.incomplete, "purchaseTimeMillis is missing")
    }
    let stated = (product: try fields.identifier("productId"), token: try fields.token())
    guard let product = stated.product ?? context.productID else {
      throw VerificationError(.incomplete, "the product is not named", remedy: "give productId beside the evidence")
    }
    let token = stated.token ?? context.purchaseToken
    _ = try FieldRules.identifier(product, "productId")
    if let token { _ = try FieldRules.identifier(token, "purchaseToken", bytesMax: 4096) }
    let purchaseType = try fields.count("purchaseType")
    let states: [Int64: Statement] = [0: .purchased, 1: .revoked, 2: .pending]
    var details = package.map { [VerifiedEvidence.Detail("packageName", $0)] } ?? []
    if let purchaseType { details.append(.init("purchaseType", "\(purchaseType)")) }
    var found = try evidence(
      .googleProduct, fields, (try fields.count("purchaseState") ?? 0, states), product: product, token: token,
      date: date, environment: purchaseType == 0 ? .sandbox : .production, names: true,
      // A consumed purchase can be bought again, which no region can.
      type: try fields.count("consumptionState") == 1 ? .consumable : .unknown,
      reason: purchaseType.map { [1: "PROMOTION", 2: "REWARDED"][$0] ?? "" } ?? "",
      isAcknowledged: try fields.count("acknowledgementState") == 1, trust: .unsigned, details: details)
    found.isNamedBeside = stated.product == nil || (stated.token == nil && context.purchaseToken != nil)
    if (stated.product ?? product) != (context.productID ?? product)
      || (stated.token ?? token) != (context.purchaseToken ?? token)
    {
      found.quarantine = VerificationError(.inconsistent, "names another product or token than the request did")
    }
    return found
  }

  /// The evidence of one purchase, common to both formats.
  ///
  /// - Parameters:
  ///   - state: The number of the purchase state, and the numbers that the format defines.
  ///   - names: Whether the format states the environment.
  private func evidence(
    _ kind: EvidenceKind, _ fields: GoogleFields, _ state: (number: Int64, known: [Int64: Statement]),
    product: String, token: String?, date: Int64, environment: StoreEnvironment, names: Bool, type: ProductType,
    reason: String = "", isAcknowledged: Bool, trust: Trust, details: [VerifiedEvidence.Detail]
  ) throws(VerificationError) -> VerifiedEvidence {
    let order = try fields.identifier("orderId")
    guard let id = order ?? token else {
      throw VerificationError(.incomplete, "orderId and purchaseToken are missing")
    }
    var found = VerifiedEvidence(
      kind: kind, store: .google, environment: names ? environment : nil, signedDate: date, details: details)
    found.details.append(.init("purchaseState", "\(state.number)"))
    guard let statement = state.known[state.number] else {
      // An unknown state grants nothing and is recorded as a notification.
      found.notification = NotificationFact(
        store: .google, environment: environment, uuid: "state:\(state.number):\(id)",
        type: "purchaseState \(state.number)", subtype: nil, signedDate: date,
        transaction: TransactionKey(store: .google, environment: environment, id: id))
      found.notes.append("unknown-type")
      return found
    }
    let account = try fields.account("obfuscatedExternalAccountId", "obfuscatedAccountId")
    found.transactions = [
      StoreTransaction(
        store: .google, environment: environment, transactionID: id,
        originalTransactionID: order.map(GoogleFields.original) ?? id, productID: product, productType: type,
        purchaseDate: date, quantity: max(1, try fields.count("quantity") ?? 1),
        appAccountToken: account?.token, reason: reason, purchaseToken: token,
        isAcknowledged: isAcknowledged, signedDate: date, trust: trust, statement: statement,
        revocation: statement == .revoked ? Revocation(date: date, reason: "cancelled") : nil)
    ]
    found.addTraits(of: account)
    if environment == .sandbox { found.notes.append("sandbox") }
    if statement == .pending { found.notes.append("pending") }
    return found
  }
}
