import Support

/// What bytes look like, found out by their first bytes and their fields, never by a file's name.
enum EvidenceFormat {
  /// A compact JWS; what it says it is stands in its payload.
  case signed([UInt8])
  /// JSON of a store.
  case document(EvidenceKind, JSONValue)
  /// ASN.1, or base64 of a receipt.
  case receipt(EvidenceKind)
  case unknown(String)

  init(_ bytes: [UInt8]) {
    let range = bytes.trimmedRange
    guard let first = bytes[range].first else {
      self = .unknown("empty")
      return
    }
    if AppleVerifier.isDER(bytes[range]) {
      self = .receipt(.receipt)
    } else if first == UInt8(ascii: "{") {
      self = Self.object(bytes, range)
    } else if bytes[range].starts(with: Self.headerStart) || bytes[range].contains(UInt8(ascii: ".")) {
      self = .signed(bytes)
    } else {
      self = .receipt(.receipt)
    }
  }

  /// Base64url of `{"`, with which the header of nearly every JWS begins; no receipt does.
  private static let headerStart = Array("eyJ".utf8)

  private static func object(_ bytes: [UInt8], _ range: Range<Int>) -> Self {
    do throws(JSONReader.Failure) {
      let document = try JSONReader.read(bytes, duplicates: .kept)
      if let kind = kind(of: document) { return .document(kind, document) }
      return .unknown("JSON, but of no form that a store answers with; say what it is with --format")
    } catch {
      // iOS 6's receipts begin as JSON does; the verifier says what is wrong with them.
      if AppleVerifier.isPropertyList(bytes[range]) { return .receipt(.receipt) }
      return .unknown("not JSON: \(error)")
    }
  }

  /// Google's forms have fields that Apple's never have, so the order does not matter but for speed.
  private static func kind(of document: JSONValue) -> EvidenceKind? {
    // A recorded exchange is what was answered.
    if document["http_status"]?.integer != nil { return (try? GoogleAnswer(document))?.kind ?? .googleProduct }
    if document["voidedPurchases"] != nil { return .googleVoided }
    if document["purchaseState"] != nil || document["purchaseTimeMillis"] != nil
      || document["purchaseStateContext"] != nil
      || document["kind"]?.string?.hasPrefix("androidpublisher#productPurchase") == true
    {
      return .googleProduct
    }
    if document["signature"]?.string != nil { return .googlePurchase }
    if document["message"]?["data"] != nil || document["eventTimeMillis"] != nil { return .googleNotification }
    return AppleFormat.kind(ofDocument: document)
  }

  var kind: EvidenceKind? {
    switch self {
    case .signed(let bytes):
      guard let payload = try? CompactJWS(bytes).decodedPayload() else { return nil }
      return AppleFormat.kind(of: payload)
    case .document(let kind, _): return kind
    case .receipt(let kind): return kind
    case .unknown: return nil
    }
  }
}
