import Support

/// Finds out which of Apple's formats bytes are, by what they hold and never by a name.
enum AppleFormat {
  /// What a signed payload is, by its decoded fields; nil for what is none of them, an app transaction for instance.
  static func kind(of payload: JSONValue) -> EvidenceKind? {
    if payload["notificationType"] != nil { return .notification }
    if payload["transactionId"] != nil { return .transaction }
    if payload["receiptType"] != nil || payload["applicationVersion"] != nil { return nil }
    // Renewal info has no field of its own that is always there.
    return payload["environment"] != nil && payload["bundleId"] == nil ? .renewal : nil
  }

  /// What a JSON document of Apple's is.
  static func kind(ofDocument document: JSONValue) -> EvidenceKind? {
    if document["notification_type"] != nil { return .notificationV1 }
    if document["signedPayload"] != nil { return .notification }
    if document["signedTransactionInfo"] != nil { return .transaction }
    if document["signedRenewalInfo"] != nil { return .renewal }
    if document["status"]?.integer != nil || document["latest_receipt_info"] != nil { return .verifyReceipt }
    // An answer that says nothing: the store was asked and did not answer for good.
    if document.members?.isEmpty == true { return .verifyReceipt }
    guard let receipt = document["receipt"] else { return nil }
    return receipt.members != nil ? .verifyReceipt : nil
  }

  /// A JWS by itself, or the one in `signedPayload`, `signedTransactionInfo`, `signedRenewalInfo` of a JSON document.
  static func compactJWS(in bytes: [UInt8]) throws(Refusal) -> [UInt8] {
    let range = bytes.trimmedRange
    guard let first = bytes[range].first, first == UInt8(ascii: "{") else { return bytes }
    let document = try document(in: bytes)
    for name in ["signedPayload", "signedTransactionInfo", "signedRenewalInfo"] {
      if let text = document[name]?.string { return Array(text.utf8) }
    }
    throw Refusal(.malformed, "the JSON document holds no JWS")
  }

  static func document(in bytes: [UInt8]) throws(Refusal) -> JSONValue {
    let document: JSONValue
    do { document = try JSONReader.read(bytes, duplicates: .kept) } catch {
      throw Refusal(.malformed, "not JSON: \(error)")
    }
    if let repetition = document.repetition { throw repetition }
    return document
  }
}
