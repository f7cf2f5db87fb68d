import Support

/// Detects which of Apple's formats the bytes have, from their content only, and removes what wraps the evidence.
enum AppleFormat {
  /// The kind of a signed payload, from its fields. Nil for other payloads.
  static func kind(of payload: JSONValue) -> EvidenceKind? {
    if payload["notificationType"] != nil { return .notification }
    if payload["transactionId"] != nil { return .transaction }
    if payload["receiptType"] != nil || payload["applicationVersion"] != nil { return .appTransaction }
    // Renewal info has no distinctive field that is always present.
    return payload["environment"] != nil && payload["bundleId"] == nil ? .renewal : nil
  }

  /// The kind of a JSON document.
  static func kind(ofDocument document: JSONValue) -> EvidenceKind? {
    if document["notification_type"] != nil { return .notificationV1 }
    if document["signedPayload"] != nil { return .notification }
    if document["signedTransactionInfo"] != nil { return .transaction }
    if document["signedRenewalInfo"] != nil { return .renewal }
    if document["signedAppTransactionInfo"] != nil { return .appTransaction }
    if document["status"]?.integer != nil || document["latest_receipt_info"] != nil { return .verifyReceipt }
    // An empty response: the store gave no final answer.
    if document.members?.isEmpty == true { return .verifyReceipt }
    guard let receipt = document["receipt"] else { return nil }
    return receipt.members != nil ? .verifyReceipt : nil
  }

  /// The JWS, which may stand in a member of a JSON document, such as `signedPayload`.
  static func compactJWS(in bytes: [UInt8]) throws(VerificationError) -> [UInt8] {
    let range = bytes.trimmedRange
    guard let first = bytes[range].first, first == UInt8(ascii: "{") else { return bytes }
    let document = try document(in: bytes)
    for name in ["signedPayload", "signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo"] {
      if let text = document[name]?.string { return Array(text.utf8) }
    }
    throw VerificationError(.malformed, "the JSON document holds no JWS")
  }

  static func document(in bytes: [UInt8]) throws(VerificationError) -> JSONValue {
    let document: JSONValue
    do { document = try JSONReader.read(bytes, duplicates: .kept) } catch {
      throw VerificationError(.malformed, "not JSON: \(error)")
    }
    if let repetition = document.repetition { throw repetition }
    return document
  }

  // MARK: Receipts

  /// The ASN.1 of a receipt, decoded from base64 if needed. Receipts of single transactions (iOS 6) are rejected with a
  /// reason.
  static func receiptBytes(in bytes: [UInt8]) throws(VerificationError) -> [UInt8] {
    let range = bytes.trimmedRange
    guard let first = bytes[range].first else { throw VerificationError(.malformed, "empty") }
    if isDER(bytes[range]) { return withoutNewline(bytes) }
    if first == UInt8(ascii: "{") { throw propertyList(bytes[range]) }
    guard let decoded = Base64.decode(bytes[range], skippingSpace: true) else {
      throw VerificationError(.malformed, "neither ASN.1 nor base64")
    }
    guard isDER(decoded[...]) else { throw propertyList(decoded[...]) }
    return decoded
  }

  /// Removes white space after the ASN.1. The last byte of a signature can look like white space, so the DER length
  /// decides.
  private static func withoutNewline(_ bytes: [UInt8]) -> [UInt8] {
    let start = bytes.trimmedRange.lowerBound
    let digits = Int(bytes[start + 1] & 0x7f)
    // An indefinite length ends with two zero bytes, so trailing white space is not part of it.
    guard digits > 0 else { return Array(bytes[bytes.trimmedRange]) }
    guard digits <= 4, bytes.count >= start + 2 + digits else { return bytes }
    let length = bytes[start + 2..<start + 2 + digits].reduce(0) { $0 << 8 | Int($1) }
    let end = start + 2 + digits + length
    guard end <= bytes.count, bytes[end...].allSatisfy(\.isSpace) else { return bytes }
    return Array(bytes[start..<end])
  }

  /// Whether the bytes start with a SEQUENCE whose length takes more than one byte. Base64 text never does.
  static func isDER(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.count >= 2 && bytes[bytes.startIndex] == 0x30 && bytes[bytes.startIndex + 1] >= 0x80
  }

  /// Whether the bytes are the property list that iOS 6 used as the receipt of a transaction.
  static func isPropertyList(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.first == UInt8(ascii: "{") && bytes.contains(Array("\"purchase-info\"".utf8))
  }

  private static func propertyList(_ bytes: ArraySlice<UInt8>) -> VerificationError {
    guard isPropertyList(bytes) else { return VerificationError(.malformed, "not a PKCS#7 receipt") }
    return VerificationError(
      .unsupportedFormat,
      "a receipt of one transaction, as of iOS 6: its signer chains to no current root",
      remedy: "ask the store for the transaction")
  }
}

extension [UInt8] {
  /// The range without white space at both ends.
  var trimmedRange: Range<Int> {
    var (start, end) = (0, count)
    while start < end, self[start].isSpace { start += 1 }
    while end > start, self[end - 1].isSpace { end -= 1 }
    return start..<end
  }
}

extension UInt8 {
  /// JSON's white space.
  var isSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}
