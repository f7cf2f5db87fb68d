/// The rules that decoded fields of all stores must satisfy (docs/reference/ledger.md, Words).
package enum FieldRules {
  /// Ids, product ids, currencies: printable ASCII (0x21-0x7E) of 1 to 512 bytes.
  package static func identifier(_ text: String, _ name: String, bytesMax: Int = 512) throws(VerificationError)
    -> String
  {
    guard (1...bytesMax).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw VerificationError(.malformed, "\(name) is not printable ASCII of 1 to \(bytesMax) bytes")
    }
    return text
  }

  /// Other text: at most 1,024 bytes.
  package static func text(_ text: String, _ name: String) throws(VerificationError) -> String {
    guard text.utf8.count <= 1_024 else { throw VerificationError(.malformed, "\(name) is longer than 1,024 bytes") }
    return text
  }

  /// A signing or creation date: the years 2000 to 2999. Checked first, because the X.509 library traps on extreme
  /// dates.
  package static func signingDate(_ milliseconds: Int64, _ name: String) throws(VerificationError) -> Int64 {
    guard signingDates.contains(milliseconds) else {
      throw VerificationError(.dateOutOfRange, "\(name) \(milliseconds) lies outside the years 2000 to 2999")
    }
    return milliseconds
  }

  /// Any other date: the years 1970 to 9999.
  package static func date(_ milliseconds: Int64, _ name: String) throws(VerificationError) -> Int64 {
    guard dates.contains(milliseconds) else {
      throw VerificationError(.dateOutOfRange, "\(name) \(milliseconds) lies outside the years 1970 to 9999")
    }
    return milliseconds
  }

  /// 2000-01-01 up to, not including, 3000-01-01, in milliseconds since 1970.
  private static let signingDates: Range<Int64> = 946_684_800_000..<32_503_680_000_000
  /// 1970-01-01 up to, not including, 10000-01-01.
  private static let dates: Range<Int64> = 0..<253_402_300_800_000
}

extension StoreTransaction {
  /// The contradiction in a fact, if there is one. Such a fact is quarantined.
  package var inconsistency: VerificationError? {
    if let percentage = revocation?.percentageMilli, !(0...100_000).contains(percentage) {
      return VerificationError(
        .inconsistent, "transaction \(transactionID) is refunded by \(percentage) thousandths of a percent")
    }
    if let expiresDate, expiresDate < purchaseDate {
      return VerificationError(.inconsistent, "transaction \(transactionID) ends before it was bought")
    }
    if let currency = price?.currency, !Money.currencies.contains(currency) {
      return VerificationError(
        .inconsistent, "transaction \(transactionID) was paid in \(currency.prefix(40)), which is no code of ISO 4217")
    }
    return nil
  }

  /// Whether only part of the price or quantity was refunded.
  package var isPartiallyRefunded: Bool {
    guard let revocation, revocation.type != "FAMILY_REVOKE" else { return false }
    return (revocation.percentageMilli ?? 100_000) < 100_000 || (revocation.quantity ?? quantity) < quantity
  }
}
