import Support

/// Dates as Apple's receipts and answers print them, read without any locale.
enum StoreDate {
  /// The field `NAME_ms` of an answer of `verifyReceipt`, else `NAME` where that is UTC; nil where there is none.
  ///
  /// `NAME_pst` and texts in other zones or with a.m. and p.m. are never read: devices of some locales wrote them wrong.
  static func read(_ name: String, in json: JSONValue) throws(Refusal) -> Int64? {
    if let value = json[name + "_ms"], !value.isEmptyText {
      guard let milliseconds = value.integer else {
        throw Refusal(.dateOutOfRange, "\(name)_ms is no date in milliseconds")
      }
      return try FieldRules.date(milliseconds, name + "_ms")
    }
    guard let text = json[name]?.identifier, !text.isEmpty else { return nil }
    // Old answers have milliseconds here (`expires_date`).
    if let milliseconds = Int64(text) { return try FieldRules.date(milliseconds, name) }
    guard let milliseconds = utc(text) else { throw Refusal(.malformed, "\(name) is no date of UTC") }
    return try FieldRules.date(milliseconds, name)
  }

  /// `2020-07-14 19:36:40 Etc/GMT`.
  static func utc(_ text: String) -> Int64? {
    guard text.hasSuffix(" Etc/GMT") else { return nil }
    return RFC3339.milliseconds(String(text.dropLast(8)).replacing(" ", with: "T") + "Z")
  }
}
