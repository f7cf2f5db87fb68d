import Support
import SwiftASN1

/// The payload of an app receipt, decoded to facts.
///
/// Attribute types: 0 environment, 2 bundle id, 3 app version, 4 opaque value, 5 device hash, 12 creation date,
/// 17 purchases, 19 original app version, 21 expiration date.
struct AppReceipt {
  let environment: StoreEnvironment
  let bundleID: String?
  let creationDate: Int64
  let facts: [StoreTransaction]
  let details: [VerifiedEvidence.Detail]
  /// Why the receipt is quarantined although its signature is valid. `facts` may then be incomplete.
  let inconsistency: VerificationError?

  /// Only the creation date, at which the certificates must be valid. It is read before anything is verified.
  static func creationDate(of attributes: ReceiptAttributes) throws(VerificationError) -> Int64 {
    guard let text = try attributes.text(12, "creation date") else {
      throw VerificationError(.incomplete, "the receipt has no creation date (attribute 12)")
    }
    guard let date = RFC3339.milliseconds(text) else {
      throw VerificationError(.dateOutOfRange, "the creation date (attribute 12) is no date of RFC 3339")
    }
    return try FieldRules.signingDate(date, "creation date")
  }

  init(_ attributes: ReceiptAttributes) throws(VerificationError) {
    creationDate = try Self.creationDate(of: attributes)
    bundleID = try attributes.text(2, "bundle id")
    guard let kind = try attributes.text(0, "environment") else {
      throw VerificationError(.incomplete, "the receipt names no environment (attribute 0)")
    }
    environment = Self.environment(ofReceiptType: kind)
    var facts: [StoreTransaction] = []
    var seen: Set<StoreTransaction> = []
    var details = try Self.details(attributes, kind)
    var inconsistency: VerificationError?
    for bytes in attributes.inApp {
      let entry = try ReceiptAttributes(bytes)
      do throws(VerificationError) {
        let fact = try Self.fact(entry, environment, creationDate)
        if seen.insert(fact).inserted { facts.append(fact) }
        details += try Self.details(ofPurchase: entry)
      } catch {
        // The store signed it, so it is quarantined for review and not rejected.
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

  /// 1701 quantity, 1702 product, 1703 transaction, 1704 purchase date, 1705 original transaction, 1707 type of
  /// product, 1708 expiry, 1712 cancellation.
  private static func fact(
    _ entry: ReceiptAttributes, _ environment: StoreEnvironment, _ creationDate: Int64
  ) throws(VerificationError) -> StoreTransaction {
    guard let id = try entry.identifier(1703, "transaction id"), let product = try entry.identifier(1702, "product id"),
      let purchaseDate = try entry.date(1704, "purchase date")
    else { throw VerificationError(.incomplete, "a purchase in the receipt has no transaction id, product or date") }
    let quantity = try entry.integer(1701, "quantity") ?? 1
    guard (0...1_000_000_000).contains(quantity) else {
      throw VerificationError(.malformed, "a quantity is \(quantity)")
    }
    let cancellation = try entry.date(1712, "cancellation date")
    return StoreTransaction(
      store: .apple, environment: environment, transactionID: id,
      originalTransactionID: try entry.identifier(1705, "original transaction id") ?? id, productID: product,
      productType: try productType(entry.integer(1707, "type of product")), purchaseDate: purchaseDate,
      expiresDate: try entry.date(1708, "expiry"), quantity: quantity, signedDate: creationDate, trust: .signed,
      statement: cancellation == nil ? .purchased : .revoked, revocation: cancellation.map { Revocation(date: $0) })
  }

  /// Not documented by Apple, but consistent in known receipts.
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
  ) throws(VerificationError) -> [VerifiedEvidence.Detail] {
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
  /// Attributes that `inspect` prints and the ledger ignores: 1706 original purchase date, 1711 line item of the web
  /// order, 1713 free trial, 1719 introductory price. 0 means the same as a missing attribute.
  private static func details(ofPurchase entry: ReceiptAttributes) throws(VerificationError) -> [VerifiedEvidence
    .Detail]
  {
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

/// The attributes of a receipt or of a purchase in it: `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET
/// STRING }`.
struct ReceiptAttributes {
  private var values: [Int64: ArraySlice<UInt8>] = [:]
  /// The in-app purchases (attribute 17), the only type that may repeat.
  private(set) var inApp: [ArraySlice<UInt8>] = []

  /// - Complexity: O(bytes).
  init(_ bytes: ArraySlice<UInt8>) throws(VerificationError) {
    do {
      for attribute in try BER.parse(bytes).fields(.set, atLeast: 0) {
        let fields = try attribute.fields(.sequence, atLeast: 3)
        let type = try Int64(derEncoded: fields[0])
        let value = try ASN1OctetString(berEncoded: fields[2]).bytes
        if type == 17 { inApp.append(value) } else if values[type] == nil { values[type] = value }
      }
    } catch let refusal as VerificationError { throw refusal } catch {
      throw VerificationError(.malformed, "the receipt's attributes are broken")
    }
  }

  func raw(_ type: Int64) -> ArraySlice<UInt8>? { values[type] }

  /// A text (UTF8String or IA5String); nil if missing or empty.
  func text(_ type: Int64, _ name: String) throws(VerificationError) -> String? {
    guard let node = try node(type, name) else { return nil }
    guard node.identifier == .utf8String || node.identifier == .ia5String, case .primitive(let bytes) = node.content,
      let text = String(validating: bytes, as: UTF8.self)
    else { throw VerificationError(.malformed, "\(name) (attribute \(type)) is no text") }
    return text.isEmpty ? nil : try FieldRules.text(text, name)
  }

  func identifier(_ type: Int64, _ name: String) throws(VerificationError) -> String? {
    guard let text = try text(type, name) else { return nil }
    return try FieldRules.identifier(text, name)
  }

  func integer(_ type: Int64, _ name: String) throws(VerificationError) -> Int64? {
    guard let node = try node(type, name) else { return nil }
    guard let value = try? Int64(derEncoded: node) else {
      throw VerificationError(.malformed, "\(name) (attribute \(type)) is no whole number of 64 bits")
    }
    return value
  }

  /// A date in milliseconds since 1970. Apple writes an empty text for a missing date.
  ///
  /// - Throws: `inconsistent` for a day that does not exist.
  func date(_ type: Int64, _ name: String) throws(VerificationError) -> Int64? {
    guard let text = try text(type, name) else { return nil }
    guard let date = RFC3339.milliseconds(text) else {
      if RFC3339.milliseconds(text, mayNotExist: true) != nil {
        throw VerificationError(.inconsistent, "\(name) (attribute \(type)) is a day that does not exist: \(text)")
      }
      throw VerificationError(.dateOutOfRange, "\(name) (attribute \(type)) is no date of RFC 3339")
    }
    return try FieldRules.date(date, name)
  }

  private func node(_ type: Int64, _ name: String) throws(VerificationError) -> ASN1Node? {
    guard let value = values[type], !value.isEmpty else { return nil }
    do { return try BER.parse(value) } catch {
      throw VerificationError(.malformed, "\(name) (attribute \(type)) is broken")
    }
  }
}
