import Support

/// An app receipt's payload as facts.
///
/// Numbers of attributes: 0 environment, 2 bundle id, 3 app version, 4 opaque value, 5 hash of the device, 12 creation date,
/// 17 purchases, 19 original app version, 21 expiration date.
struct AppReceipt {
  let environment: StoreEnvironment
  let bundleID: String?
  let creationDate: Int64
  let facts: [StoreTransaction]
  let details: [VerifiedEvidence.Detail]
  /// Why it must not be booked although it is signed; then its facts are not all there.
  let inconsistency: Refusal?

  /// Only the date, which the certificates are judged at: it is read before anything is verified.
  static func creationDate(of attributes: ReceiptAttributes) throws(Refusal) -> Int64 {
    guard let text = try attributes.text(12, "creation date") else {
      throw Refusal(.incomplete, "the receipt has no creation date (attribute 12)")
    }
    guard let date = RFC3339.milliseconds(text) else {
      throw Refusal(.dateOutOfRange, "the creation date (attribute 12) is no date of RFC 3339")
    }
    return try FieldRules.signingDate(date, "creation date")
  }

  init(_ attributes: ReceiptAttributes) throws(Refusal) {
    creationDate = try Self.creationDate(of: attributes)
    bundleID = try attributes.text(2, "bundle id")
    guard let kind = try attributes.text(0, "environment") else {
      throw Refusal(.incomplete, "the receipt names no environment (attribute 0)")
    }
    environment = Self.environment(ofReceiptType: kind)
    var facts: [StoreTransaction] = []
    var seen: Set<StoreTransaction> = []
    var details = try Self.details(attributes, kind)
    var inconsistency: Refusal?
    for bytes in attributes.inApp {
      let entry = try ReceiptAttributes(bytes)
      do throws(Refusal) {
        let fact = try Self.fact(entry, environment, creationDate)
        if seen.insert(fact).inserted { facts.append(fact) }
        details += try Self.details(ofPurchase: entry)
      } catch {
        // The store signed it, so it waits for somebody to look at it.
        guard error.code == .inconsistent else { throw error }
        inconsistency = inconsistency ?? error
      }
    }
    self.facts = facts
    self.details = details
    self.inconsistency = inconsistency ?? facts.lazy.compactMap(\.inconsistency).first
  }

  /// `Production`, `ProductionSandbox`, `ProductionVPP`, `ProductionVPPSandbox`, `Xcode`.
  static func environment(ofReceiptType text: String) -> StoreEnvironment {
    switch text {
    case "ProductionSandbox", "ProductionVPPSandbox": .sandbox
    case "ProductionVPP": .production
    default: StoreEnvironment(storeText: text)
    }
  }

  /// 1701 quantity, 1702 product, 1703 transaction, 1704 purchase date, 1705 original transaction, 1707 type of product, 1708
  /// expiry, 1712 cancellation.
  private static func fact(
    _ entry: ReceiptAttributes, _ environment: StoreEnvironment, _ creationDate: Int64
  ) throws(Refusal) -> StoreTransaction {
    guard let id = try entry.identifier(1703, "transaction id"), let product = try entry.identifier(1702, "product id"),
      let purchaseDate = try entry.date(1704, "purchase date")
    else { throw Refusal(.incomplete, "a purchase in the receipt has no transaction id, product or date") }
    let quantity = try entry.integer(1701, "quantity") ?? 1
    guard (0...1_000_000_000).contains(quantity) else { throw Refusal(.malformed, "a quantity is \(quantity)") }
    let cancellation = try entry.date(1712, "cancellation date")
    return StoreTransaction(
      store: .apple, environment: environment, transactionID: id,
      originalTransactionID: try entry.identifier(1705, "original transaction id") ?? id, productID: product,
      productType: try productType(entry.integer(1707, "type of product")), purchaseDate: purchaseDate,
      expiresDate: try entry.date(1708, "expiry"), quantity: quantity, signedDate: creationDate, trust: .signed,
      statement: cancellation == nil ? .purchased : .revoked, revocation: cancellation.map { Revocation(date: $0) })
  }

  /// Not documented by Apple; consistent in the receipts that are known.
  private static func productType(_ code: Int64?) -> ProductType {
    switch code {
    case 0: .nonConsumable
    case 1: .consumable
    case 2: .nonRenewing
    case 3: .autoRenewable
    default: .unknown
    }
  }

  private static func details(
    _ attributes: ReceiptAttributes, _ kind: String
  ) throws(Refusal) -> [VerifiedEvidence.Detail] {
    var details = [VerifiedEvidence.Detail("receiptType", kind)]
    for (type, name) in [(2, "bundleId"), (3, "applicationVersion"), (19, "originalApplicationVersion")]
      as [(Int64, String)]
    {
      if let text = try attributes.text(type, name) { details.append(.init(name, text)) }
    }
    for (type, name) in [(4, "opaqueValue"), (5, "deviceHash")] as [(Int64, String)] {
      if let bytes = attributes.raw(type), bytes.count <= 64 { details.append(.init(name, Hexadecimal.text(bytes))) }
    }
    if let text = try attributes.text(21, "expiration date") { details.append(.init("expirationDate", text)) }
    return details
  }
}

extension AppReceipt {
  /// 1706 original purchase date, 1711 line item of the web order, 1713 free trial, 1719 introductory price: nothing is booked of them, and 0 says as much
  /// as absence.
  private static func details(ofPurchase entry: ReceiptAttributes) throws(Refusal) -> [VerifiedEvidence.Detail] {
    let id = try entry.identifier(1703, "transaction id") ?? ""
    var details: [VerifiedEvidence.Detail] = []
    if let date = try entry.date(1706, "original purchase date") {
      details.append(.init("originalPurchaseDate \(id)", "\(date)"))
    }
    for (type, name) in [(1711, "webOrderLineItemId"), (1713, "isTrialPeriod"), (1719, "isInIntroOfferPeriod")]
      as [(Int64, String)]
    {
      guard let value = try entry.integer(type, name), value != 0 else { continue }
      details.append(.init("\(name) \(id)", type == 1711 ? "\(value)" : "true"))
    }
    return details
  }
}
