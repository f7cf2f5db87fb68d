import Support

/// A JSON text of Google with what wraps it: a recorded HTTP exchange, a purchase and its signature, a Pub/Sub message.
struct GoogleAnswer {
  /// The HTTP status, when an exchange was recorded.
  var status: Int64?
  /// The JSON inside; null when a body is empty.
  var body: JSONValue
  /// The text that is signed, and the signature.
  var signed: (text: String, signature: String)?
  /// The Pub/Sub envelope's `messageId`.
  var messageID: String?

  /// - Throws: `Refusal` `malformed`.
  init(_ value: JSONValue) throws(Refusal) {
    if let status = value["http_status"]?.integer {
      self.status = status
      if let object = value["body"], object.members != nil {
        body = object
      } else {
        let text = value["body"]?.string ?? ""
        body = text.utf8.contains { $0 > 0x20 } ? try Self.parse(Array(text.utf8)) : .null
      }
    } else if let text = Self.first(value, Self.textNames)?.string,
      let signature = Self.first(value, Self.signatureNames)?.string
    {
      body = try Self.parse(Array(text.utf8))
      signed = (text, signature)
    } else if let message = value["message"], let data = message["data"]?.string {
      guard let decoded = Base64.decode(data.utf8, skippingSpace: true) else {
        throw Refusal(.malformed, "message.data is not base64")
      }
      body = try Self.parse(decoded)
      messageID = (message["messageId"] ?? message["message_id"])?.identifier
    } else {
      body = value
    }
    guard body.members != nil || body == .null else { throw Refusal(.malformed, "is no JSON object") }
  }

  /// The kind that the fields show; nil when they show none of Google's.
  var kind: EvidenceKind? {
    if signed != nil { return .googlePurchase }
    if messageID != nil || GoogleVerifier.messageNames.contains(where: { body[$0] != nil }) {
      return .googleNotification
    }
    if body["voidedPurchases"] != nil { return .googleVoided }
    if body["kind"]?.string == "androidpublisher#productPurchase" || status != nil { return .googleProduct }
    let isResource = body["purchaseTimeMillis"] != nil && (body["purchaseState"] ?? body["orderId"]) != nil
    return isResource ? .googleProduct : nil
  }

  /// `{}`: Google's list of no voided purchases.
  var isEmpty: Bool { body == .object([]) }

  /// An answer that is a failure of the store: quarantined while asking again may help.
  /// - Throws: `Refusal` `store-refused` when it will not.
  func storeFailure(_ kind: EvidenceKind) throws(Refusal) -> VerifiedEvidence? {
    let error = body["error"]
    guard let code = status ?? error?["code"]?.integer, !(200..<300).contains(code) || error != nil else { return nil }
    let text = "the store answered \(code)" + (error?["message"]?.string.map { ": \($0.prefix(200))" } ?? "")
    switch code {
    // 401 and 403 are ours to repair: credentials, permissions.
    case 401, 403, 408, 429, 500...599:
      return VerifiedEvidence(
        kind: kind, store: .google, environment: nil, quarantine: Refusal(.retryLater, "\(text); ask again"))
    default: throw Refusal(.storeRefused, text)
    }
  }

  private static let textNames = ["receipt", "INAPP_PURCHASE_DATA", "purchaseData", "originalJson", "json"]
  private static let signatureNames = ["signature", "INAPP_DATA_SIGNATURE", "dataSignature"]

  private static func first(_ value: JSONValue, _ names: [String]) -> JSONValue? {
    for name in names { if let member = value[name] { return member } }
    return nil
  }

  static func parse(_ bytes: [UInt8]) throws(Refusal) -> JSONValue {
    do { return try JSONReader.read(bytes, duplicates: .kept) } catch {
      throw Refusal(.malformed, "is no JSON: \(error)")
    }
  }
}
