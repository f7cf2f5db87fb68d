import Support

extension AppleVerifier {
  /// A PKCS#7 app receipt, in DER, BER or base64 of either.
  func verifyReceipt(_ bytes: [UInt8], at now: Int64, trusted: Bool) async throws(Refusal) -> VerifiedEvidence {
    let receipt = try await receipts.open(try Self.receiptBytes(in: bytes), trusted: trusted)
    try identity.check(bundleID: receipt.bundleID, in: "receipt")
    let unknown = try identity.check(receipt.environment, in: "receipt")
    var evidence = VerifiedEvidence(
      kind: .receipt, store: .apple, environment: receipt.environment,
      transactions: unknown == nil ? receipt.facts : [], signedDate: receipt.creationDate,
      quarantine: unknown ?? receipt.inconsistency, details: receipt.details)
    if receipt.environment == .sandbox { evidence.addNote("sandbox") }
    if receipt.facts.isEmpty { evidence.addNote("no-transactions") }
    quarantineFuture(&evidence, receipt.creationDate, at: now)
    return evidence
  }

  /// Decodes base64 where it is base64; iOS 6's receipts of single transactions are told apart.
  static func receiptBytes(in bytes: [UInt8]) throws(Refusal) -> [UInt8] {
    let range = bytes.trimmedRange
    guard let first = bytes[range].first else { throw Refusal(.malformed, "empty") }
    if isDER(bytes[range]) { return withoutNewline(bytes) }
    if first == UInt8(ascii: "{") { throw propertyList(bytes[range]) }
    guard let decoded = Base64.decode(bytes[range], skippingSpace: true) else {
      throw Refusal(.malformed, "neither ASN.1 nor base64")
    }
    guard isDER(decoded[...]) else { throw propertyList(decoded[...]) }
    return decoded
  }

  /// ASN.1 without white space behind it. What looks like white space may be the last byte of a signature, so the length at the beginning decides.
  private static func withoutNewline(_ bytes: [UInt8]) -> [UInt8] {
    let start = bytes.trimmedRange.lowerBound
    let digits = Int(bytes[start + 1] & 0x7f)
    // Without a length it ends with two zeros.
    guard digits > 0 else { return Array(bytes[bytes.trimmedRange]) }
    guard digits <= 4, bytes.count >= start + 2 + digits else { return bytes }
    let length = bytes[start + 2..<start + 2 + digits].reduce(0) { $0 << 8 | Int($1) }
    let end = start + 2 + digits + length
    guard end <= bytes.count, bytes[end...].allSatisfy(\.isSpace) else { return bytes }
    return Array(bytes[start..<end])
  }

  /// A SEQUENCE with a length that one byte cannot hold, which base64 never begins with.
  static func isDER(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.count >= 2 && bytes[bytes.startIndex] == 0x30 && bytes[bytes.startIndex + 1] >= 0x80
  }

  /// Whether it is the property list that iOS 6 called a transaction's receipt.
  static func isPropertyList(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.first == UInt8(ascii: "{") && bytes.contains(Array("\"purchase-info\"".utf8))
  }

  private static func propertyList(_ bytes: ArraySlice<UInt8>) -> Refusal {
    guard isPropertyList(bytes) else { return Refusal(.malformed, "not a PKCS#7 receipt") }
    return Refusal(
      .unsupportedFormat,
      "a receipt of one transaction as iOS 6 had it: its signer is under no root of today; ask the store for the transaction"
    )
  }
}
