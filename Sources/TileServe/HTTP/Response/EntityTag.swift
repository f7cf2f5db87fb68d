/// Strong entity tags (RFC 9110, section 8.8.3): a hash of the bytes, so that an unchanged tile keeps its tag when its bundle is replaced.
enum EntityTag {
  /// Sixteen hexadecimal digits in quotation marks. A representation of other coding has another tag, hence the suffix.
  static func text(hash: UInt64, suffix: String = "") -> String {
    var digits: [UInt8] = [UInt8(ascii: "\"")]
    digits.reserveCapacity(20)
    for shift in stride(from: UInt64(60), through: 0, by: -4) {
      let digit = UInt8(truncatingIfNeeded: hash >> shift & 15)
      digits.append(digit < 10 ? digit + UInt8(ascii: "0") : digit - 10 + UInt8(ascii: "a"))
    }
    digits.append(contentsOf: suffix.utf8)
    digits.append(UInt8(ascii: "\""))
    return String(decoding: digits, as: UTF8.self)
  }

  /// True when an If-None-Match field names the tag; the comparison is weak (section 13.1.2).
  static func isNamed(_ tag: String, in field: String) -> Bool {
    field.split(separator: ",").contains { item in
      var item = item.drop { $0 == " " || $0 == "\t" }
      while item.last == " " || item.last == "\t" { item.removeLast() }
      if item.hasPrefix("W/") { item = item.dropFirst(2) }
      return item == "*" || item == tag
    }
  }
}
