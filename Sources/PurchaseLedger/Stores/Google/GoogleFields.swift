/// Reads fields of Google's JSON under the limits of ids and dates.
struct GoogleFields {
  let value: JSONValue

  /// Milliseconds of 1970-01-01 and of 10000-01-01.
  private static let dates: ClosedRange<Int64> = 0...253_402_300_799_999

  /// Printable ASCII without spaces, of the first name that is there and not empty.
  func identifier(_ names: String..., upTo length: Int = 512) throws(Refusal) -> String? {
    for name in names {
      guard let member = value[name] else { continue }
      guard let text = member.identifier else { throw Refusal(.malformed, "\(name) is no text") }
      if !text.isEmpty { return try Self.checked(text, name, upTo: length) }
    }
    return nil
  }

  static func checked(_ text: String, _ name: String, upTo length: Int = 512) throws(Refusal) -> String {
    guard text.utf8.count <= length, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw Refusal(.malformed, "\(name) is longer than \(length) bytes or holds other than printable ASCII")
    }
    return text
  }

  func token() throws(Refusal) -> String? { try identifier("purchaseToken", upTo: 4096) }

  /// Milliseconds since 1970; the first of the names that is there.
  func date(_ names: String...) throws(Refusal) -> Int64? {
    for name in names {
      guard let member = value[name] else { continue }
      guard let date = member.integer else { throw Refusal(.malformed, "\(name) is no number") }
      guard Self.dates.contains(date) else { throw Refusal(.dateOutOfRange, "\(name) is \(date)") }
      return date
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
