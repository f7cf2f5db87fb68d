/// Base64url without padding (RFC 4648, section 5).
enum Base64URL {
  /// Nil for anything but whole bytes in its alphabet.
  static func decode(_ text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    var bits = 0
    var value = 0
    for character in text.utf8 {
      guard let digit = digit(character) else { return nil }
      value = (value << 6 | digit) & 0xffff
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: value >> bits))
      }
    }
    // What is left over must be less than a digit, and nothing: else two texts would be the same bytes.
    guard bits < 6, value & ((1 << bits) - 1) == 0 else { return nil }
    return bytes
  }

  private static func digit(_ character: UInt8) -> Int? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(character) - 65
    case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(character) - 71
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(character) + 4
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
