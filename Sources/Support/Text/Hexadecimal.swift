/// Bytes as hexadecimal digits (base16 of RFC 4648, section 8).
@usableFromInline
package enum Hexadecimal {
  /// Two digits for each byte, in lower case.
  @inlinable
  package static func text(_ bytes: some Sequence<UInt8>) -> String { text(ofArray: Array(bytes)) }

  @usableFromInline
  static func text(ofArray bytes: [UInt8]) -> String {
    String(unsafeUninitializedCapacity: bytes.count * 2) { text in
      var count = 0
      for byte in bytes {
        text[count] = digit(byte >> 4)
        text[count + 1] = digit(byte & 15)
        count += 2
      }
      return count
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? value + UInt8(ascii: "0") : value - 10 + UInt8(ascii: "a")
  }

  /// The bytes of digits in either case; nil for other characters and an odd number of digits.
  package static func bytes(_ text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count / 2)
    var high: UInt8?
    for character in text.utf8 {
      guard let value = value(character) else { return nil }
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    return high == nil ? bytes : nil
  }

  /// The value of one digit in either case; nil for other characters.
  @inlinable
  package static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

extension Sequence<UInt8> {
  /// Hexadecimal digits in lower case, two for each byte.
  @inlinable
  package var hexadecimal: String { Hexadecimal.text(self) }
}
