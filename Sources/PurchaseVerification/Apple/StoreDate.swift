import Support

/// Parses the dates in Apple's receipts and responses, independent of the locale.
enum StoreDate {
  /// The field `NAME_ms` of a `verifyReceipt` response, else `NAME` if that is in UTC; nil if both are missing.
  ///
  /// `NAME_pst` and dates in other zones or with a.m. and p.m. are never read, because devices in some locales wrote
  /// them wrong.
  static func read(_ name: String, in json: JSONValue) throws(VerificationError) -> Int64? {
    if let value = json[name + "_ms"], !value.isEmptyText {
      guard let milliseconds = value.integer else {
        throw VerificationError(.dateOutOfRange, "\(name)_ms is no date in milliseconds")
      }
      return try FieldRules.date(milliseconds, name + "_ms")
    }
    guard let text = json[name]?.identifier, !text.isEmpty else { return nil }
    // Old responses have milliseconds here (`expires_date`).
    if let milliseconds = Int64(text) { return try FieldRules.date(milliseconds, name) }
    guard let milliseconds = utc(text) else { throw VerificationError(.malformed, "\(name) is no date of UTC") }
    return try FieldRules.date(milliseconds, name)
  }

  /// `2020-07-14 19:36:40 Etc/GMT`.
  static func utc(_ text: String) -> Int64? {
    guard text.hasSuffix(" Etc/GMT") else { return nil }
    return RFC3339.milliseconds(String(text.dropLast(8)).replacing(" ", with: "T") + "Z")
  }
}
