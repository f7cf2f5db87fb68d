import Support

/// What Google answers about an order (`orders.get`, `orders.batchGet`): the evidence of price, tax and country.
extension GoogleVerifier {
  /// Decodes an order: a transaction for each line item, with what was paid for it. Tax, country and the developer's
  /// share are details of the evidence.
  func order(_ answer: GoogleAnswer, _ context: EvidenceContext) throws(VerificationError) -> VerifiedEvidence {
    let (body, fields) = (answer.body, GoogleFields(value: answer.body))
    try checkPackage(context.packageName, isRequired: false)
    guard let id = try fields.identifier("orderId") else {
      throw VerificationError(.incomplete, "orderId is missing")
    }
    guard let created = try fields.time("createTime") else {
      throw VerificationError(.incomplete, "createTime is missing")
    }
    let date = context.purchaseDate ?? created
    var found = VerifiedEvidence(kind: .googleOrder, store: .google, environment: nil, signedDate: date)
    let state = body["state"]?.string ?? ""
    found.details = Self.details(of: body, state)
    found.quarantine = body.repetition
    guard let outcome = try Self.outcome(of: body, state, bought: date) else {
      found.notes = ["unknown-type", "no-transactions"]
      return found
    }
    let items = try (body["lineItems"]?.array ?? []).map { item throws(VerificationError) in try OrderItem(item) }
      .sorted { $0.product.utf8.lexicographicallyPrecedes($1.product.utf8) }
    let order = StoreTransaction(
      store: .google, environment: environment(context), transactionID: id,
      originalTransactionID: GoogleFields.original(of: id), productID: nil, purchaseDate: date,
      purchaseToken: try fields.token(), signedDate: outcome.revocation?.date ?? date, trust: .unsigned,
      statement: outcome.statement, revocation: outcome.revocation)
    found.signedDate = order.signedDate
    let total = items.count == 1 ? Self.money(body["total"]) : nil
    found.transactions = zip(order.split(among: items.map(\.product)), items).map { part, item in
      var part = part
      part.quantity = item.quantity
      part.productType = item.type
      part.price = item.total ?? total
      return part
    }
    if found.transactions.contains(where: { $0.price == nil }) { found.notes.append("unusable-price") }
    if outcome.statement == .pending { found.notes.append("pending") }
    for fact in found.transactions { found.addNotes(about: fact) }
    if found.transactions.isEmpty { found.notes.append("no-transactions") }
    if found.quarantine == nil, Set(items.map(\.product)).count < items.count {
      found.quarantine = VerificationError(.inconsistent, "names a product in two line items")
    }
    return found
  }

  /// One product of an order.
  private struct OrderItem {
    let product: String
    let quantity: Int64
    let type: ProductType
    /// What was paid for it, with tax and after discounts.
    let total: Money?

    init(_ item: JSONValue) throws(VerificationError) {
      guard let product = try GoogleFields(value: item).identifier("productId") else {
        throw VerificationError(.incomplete, "productId of the line item is missing")
      }
      self.product = product
      let details = item["oneTimePurchaseDetails"] ?? .object([])
      quantity = max(1, try GoogleFields(value: details).count("quantity") ?? 1)
      type =
        item["subscriptionDetails"] != nil ? .autoRenewable : details["rentalDetails"] != nil ? .consumable : .unknown
      total = GoogleVerifier.money(item["total"])
    }
  }

  // MARK: State

  /// - Returns: Nil for a state that this version does not know.
  private static func outcome(
    of body: JSONValue, _ state: String, bought: Int64
  ) throws(VerificationError) -> (statement: Statement, revocation: Revocation?)? {
    let history = body["orderHistory"]
    func time(_ event: String) throws(VerificationError) -> Int64 {
      // An event before the purchase would leave the purchase standing.
      let event = try GoogleFields(value: history?[event] ?? .object([])).time("eventTime")
      let last = try GoogleFields(value: body).time("lastEventTime")
      return max(bought, event ?? last ?? bought)
    }
    switch state {
    case "PENDING": return (.pending, nil)
    case "PROCESSED", "PENDING_REFUND": return (.purchased, nil)
    case "CANCELED": return (.revoked, Revocation(date: try time("cancellationEvent"), reason: "cancelled"))
    case "REFUNDED": return (.revoked, Revocation(date: try time("refundEvent"), reason: "refunded"))
    case "PARTIALLY_REFUNDED":
      guard let (share, date) = try refunded(history?["partialRefundEvents"]?.array ?? [], of: money(body["total"]))
      else { return (.purchased, nil) }
      let revocation = Revocation(date: max(bought, date), reason: "refunded", percentageMilli: share)
      return (.revoked, revocation)
    default: return nil
    }
  }

  /// The refunded share in thousandths of a percent, and the time of the last refund. Nil where the answer has not all
  /// amounts, or they are in several currencies: the list of voided purchases has the refund, too.
  private static func refunded(
    _ events: [JSONValue], of total: Money?
  ) throws(VerificationError) -> (share: Int64, date: Int64)? {
    guard let total, total.milliunits > 0 else { return nil }
    var (sum, last): (Int64, Int64?) = (0, nil)
    for event in events where event["state"]?.string != "PENDING" {
      guard let part = money(event["refundDetails"]?["total"]), part.currency == total.currency, part.milliunits >= 0
      else { return nil }
      sum = min(total.milliunits, sum.addingReportingOverflow(part.milliunits).partialValue)
      let fields = GoogleFields(value: event)
      let (processed, created) = (try fields.time("processTime"), try fields.time("createTime"))
      last = [last, processed ?? created].compactMap(\.self).max()
    }
    guard let last, sum > 0 else { return nil }
    let product = sum.multipliedFullWidth(by: 100_000)
    return (total.milliunits.dividingFullWidth(product).quotient, last)
  }

  // MARK: Amounts

  /// An amount as Google's `Money` has it: whole units and billionths. Nil for one that its currency cannot have.
  static func money(_ value: JSONValue?) -> Money? {
    guard let value, value.members != nil, let currency = value["currencyCode"]?.string else { return nil }
    func number(_ name: String) -> Int64? { value[name].map { $0.identifier.flatMap { Int64($0) } } ?? 0 }
    guard let units = number("units"), let nanos = number("nanos"), abs(nanos) < 1_000_000_000,
      units == 0 || nanos == 0 || (units < 0) == (nanos < 0), nanos % 1_000_000 == 0
    else { return nil }
    let (whole, isTooGreat) = units.multipliedReportingOverflow(by: 1000)
    let (milli, overflow) = whole.addingReportingOverflow(nanos / 1_000_000)
    let money = Money(milliunits: milli, currency: currency)
    let step: Int64 =
      switch Money.digits(of: currency) {
      case 0: 1000
      case 2: 10
      default: 1
      }
    return isTooGreat || overflow || !money.namesCurrency || milli % step != 0 ? nil : money
  }

  private static func details(of body: JSONValue, _ state: String) -> [VerifiedEvidence.Detail] {
    var details = [VerifiedEvidence.Detail("state", String(state.prefix(80)))]
    for name in ["total", "tax", "developerRevenueInBuyerCurrency"] {
      if let money = money(body[name]) { details.append(.init(name, "\(money.decimal) \(money.currency)")) }
    }
    if let country = body["buyerAddress"]?["buyerCountry"]?.string {
      details.append(.init("buyerCountry", String(country.prefix(80))))
    }
    return details
  }
}

extension GoogleFields {
  /// A time of RFC 3339, in milliseconds since 1970.
  func time(_ name: String) throws(VerificationError) -> Int64? {
    guard let member = value[name] else { return nil }
    guard let date = member.string.flatMap({ RFC3339.milliseconds($0) }) else {
      throw VerificationError(.malformed, "\(name) is no date of RFC 3339")
    }
    return try FieldRules.date(date, name)
  }
}
