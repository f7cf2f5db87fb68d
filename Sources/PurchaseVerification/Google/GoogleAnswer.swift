import Support

/// A JSON document of Google, taken out of its wrapper: a recorded HTTP exchange, a purchase with its signature, or a
/// Pub/Sub message.
struct GoogleAnswer {
  /// The HTTP status of a recorded exchange.
  var status: Int64?
  /// The document. Null for an empty response body.
  var body: JSONValue
  /// The signed text and its signature.
  var signed: (text: String, signature: String)?
  /// The Pub/Sub envelope's `messageId`.
  var messageID: String?

  /// - Throws: `VerificationError` with code `malformed`.
  init(_ value: JSONValue) throws(VerificationError) {
    if let status = value["http_status"]?.integer {
      self.status = status
      if let object = value["body"], object.members != nil {
        body = object
      } else {
        let text = value["body"]?.string ?? ""
        body = text.utf8.contains { $0 > 0x20 } ? try Self.parse(Array(text.utf8)) : .null
      }
    } else if let signed = Self.signed(value) {
      body = try Self.parse(Array(signed.text.utf8))
      self.signed = signed
    } else if let message = value["message"], let data = message["data"]?.string {
      guard let decoded = Base64.decode(data.utf8, skippingSpace: true) else {
        throw VerificationError(.malformed, "message.data is not base64")
      }
      body = try Self.parse(decoded)
      messageID = (message["messageId"] ?? message["message_id"])?.identifier
    } else {
      body = value
    }
    guard body.members != nil || body == .null else { throw VerificationError(.malformed, "is no JSON object") }
  }

  /// The kind, from the fields. Nil if they are not Google's.
  var kind: EvidenceKind? {
    if signed != nil { return .googlePurchase }
    if messageID != nil || Self.messageNames.contains(where: { body[$0] != nil }) {
      return .googleNotification
    }
    if body["voidedPurchases"] != nil { return .googleVoided }
    if Self.isOrder(body) { return .googleOrder }
    if body["kind"]?.string == "androidpublisher#productPurchase" || status != nil { return .googleProduct }
    if status == nil, Self.isToken(body) { return .googleToken }
    let isResource = body["purchaseTimeMillis"] != nil && (body["purchaseState"] ?? body["orderId"]) != nil
    return isResource ? .googleProduct : nil
  }

  /// Whether a document names a product and its purchase token, and says nothing else of the purchase.
  static func isToken(_ body: JSONValue) -> Bool {
    body["purchaseToken"]?.string != nil && body["productId"]?.string != nil && body["kind"] == nil
      && body["purchaseTime"] == nil && body["purchaseTimeMillis"] == nil && body["purchaseState"] == nil
      && body["purchaseStateContext"] == nil && body["voidedTimeMillis"] == nil
  }

  /// Whether a document is of `orders.get`.
  static func isOrder(_ body: JSONValue) -> Bool {
    body["lineItems"]?.array != nil && body["orderId"]?.identifier != nil && body["productLineItem"] == nil
  }

  /// Whether the document is `{}`, which is Google's empty list of voided purchases.
  var isEmpty: Bool { body == .object([]) }

  /// A failure of the store that may be temporary, as quarantined evidence. Nil if the response is no failure.
  ///
  /// - Throws: `VerificationError` with code `store-refused` if the failure is permanent.
  func storeFailure(_ kind: EvidenceKind) throws(VerificationError) -> VerifiedEvidence? {
    let error = body["error"]
    guard let code = status ?? error?["code"]?.integer, !(200..<300).contains(code) || error != nil else { return nil }
    let text = "the store answered \(code)" + (error?["message"]?.string.map { ": \($0.prefix(200))" } ?? "")
    switch code {
    // 401 and 403 are fixed on the operator's side: credentials, permissions.
    case 401, 403, 408, 429, 500...599:
      return VerifiedEvidence(
        kind: kind, store: .google, environment: nil,
        quarantine: VerificationError(.retryLater, text, remedy: "ask again"))
    default: throw VerificationError(.storeRefused, text)
    }
  }

  /// The members of a real-time developer notification that carry its message.
  static let messageNames = [
    "oneTimeProductNotification", "voidedPurchaseNotification", "subscriptionNotification",
    "pendingRefundReviewNotification", "testNotification",
  ]
  private static let textNames = ["receipt", "INAPP_PURCHASE_DATA", "purchaseData", "originalJson", "json"]
  private static let signatureNames = ["signature", "INAPP_DATA_SIGNATURE", "dataSignature"]

  /// A text and its signature beside it, under any of their names.
  static func signed(_ value: JSONValue) -> (text: String, signature: String)? {
    guard let text = first(value, textNames)?.string, let signature = first(value, signatureNames)?.string else {
      return nil
    }
    return (text, signature)
  }

  private static func first(_ value: JSONValue, _ names: [String]) -> JSONValue? {
    for name in names { if let member = value[name] { return member } }
    return nil
  }

  static func parse(_ bytes: [UInt8]) throws(VerificationError) -> JSONValue {
    do { return try JSONReader.read(bytes, duplicates: .kept) } catch {
      throw VerificationError(.malformed, "is no JSON: \(error)")
    }
  }
}

/// Reads fields of Google's JSON and enforces `FieldRules`. Errors name the field.
struct GoogleFields {
  let value: JSONValue

  /// The id in the first of the named fields that is present and not empty.
  func identifier(_ names: String..., upTo length: Int = 512) throws(VerificationError) -> String? {
    for name in names {
      guard let member = value[name] else { continue }
      guard let text = member.identifier else { throw VerificationError(.malformed, "\(name) is no text") }
      if !text.isEmpty { return try FieldRules.identifier(text, name, bytesMax: length) }
    }
    return nil
  }

  /// The account's id of the app's own making in the first of these fields, and its token if it is a UUID.
  func account(_ names: String...) throws(VerificationError) -> (id: String, token: AccountToken?)? {
    for name in names {
      if let id = try identifier(name) { return (id, AccountToken(id)) }
    }
    return nil
  }

  func token() throws(VerificationError) -> String? { try identifier("purchaseToken", upTo: 4096) }

  /// The date in the first of the named fields that is present, in milliseconds since 1970.
  func date(_ names: String...) throws(VerificationError) -> Int64? {
    for name in names {
      guard let member = value[name] else { continue }
      guard let date = member.integer else { throw VerificationError(.malformed, "\(name) is no number") }
      return try FieldRules.date(date, name)
    }
    return nil
  }

  /// A number that is not negative and fits 32 bits; nil if missing.
  func count(_ name: String) throws(VerificationError) -> Int64? {
    guard let member = value[name] else { return nil }
    guard let number = member.integer, (0...Int64(Int32.max)).contains(number) else {
      throw VerificationError(.malformed, "\(name) is out of range")
    }
    return number
  }

  /// The order that a renewal belongs to: `GPA.1234..3` is the fourth renewal of `GPA.1234`.
  static func original(of order: String) -> String {
    let bytes = Array(order.utf8)
    guard let last = bytes.lastIndex(where: { !(0x30...0x39).contains($0) }), last > 1, last < bytes.count - 1,
      bytes[last] == UInt8(ascii: "."), bytes[last - 1] == UInt8(ascii: ".")
    else { return order }
    return String(decoding: bytes[..<(last - 1)], as: UTF8.self)
  }
}
