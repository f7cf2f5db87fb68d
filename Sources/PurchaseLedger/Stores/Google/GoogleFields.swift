import Support

/// Reads fields of Google's JSON under the limits of ids and dates.
struct GoogleFields {
  let value: JSONValue

  /// Printable ASCII without spaces, of the first name that is there and not empty.
  func identifier(_ names: String..., upTo length: Int = 512) throws(Refusal) -> String? {
    for name in names {
      guard let member = value[name] else { continue }
      guard let text = member.identifier else { throw Refusal(.malformed, "\(name) is no text") }
      if !text.isEmpty { return try FieldRules.identifier(text, name, bytesMax: length) }
    }
    return nil
  }

  func token() throws(Refusal) -> String? { try identifier("purchaseToken", upTo: 4096) }

  /// Milliseconds since 1970; the first of the names that is there.
  func date(_ names: String...) throws(Refusal) -> Int64? {
    for name in names {
      guard let member = value[name] else { continue }
      guard let date = member.integer else { throw Refusal(.malformed, "\(name) is no number") }
      return try FieldRules.date(date, name)
    }
    return nil
  }

  /// A number that is not negative and fits 32 bits; nil when missing.
  func count(_ name: String) throws(Refusal) -> Int64? {
    guard let member = value[name] else { return nil }
    guard let number = member.integer, (0...Int64(Int32.max)).contains(number) else {
      throw Refusal(.malformed, "\(name) is no number that can be")
    }
    return number
  }

  /// `GPA.1234..3` is the fourth renewal of `GPA.1234`.
  static func original(of order: String) -> String {
    let bytes = Array(order.utf8)
    guard let last = bytes.lastIndex(where: { !(0x30...0x39).contains($0) }), last > 1, last < bytes.count - 1,
      bytes[last] == UInt8(ascii: "."), bytes[last - 1] == UInt8(ascii: ".")
    else { return order }
    return String(decoding: bytes[..<(last - 1)], as: UTF8.self)
  }
}
