/// Base64 and base64url (RFC 4648, sections 4 and 5). One reader accepts both alphabets, with or without padding:
/// receipts have line breaks, and JWS parts have padding in some libraries.
@usableFromInline
package enum Base64 {
  /// The six bits of a character; above 63: white space (64), padding (65), none (255).
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 255, count: 256)
    for (index, character) in alphabet.enumerated() { values[Int(character)] = UInt8(index) }
    values[Int(UInt8(ascii: "-"))] = 62
    values[Int(UInt8(ascii: "_"))] = 63
    for space in [0x20, 0x09, 0x0A, 0x0D] { values[space] = 64 }
    values[Int(UInt8(ascii: "="))] = 65
    return values
  }()

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let urlAlphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// The bytes of a text; nil where it is not base64: another character, padding inside, a single last character.
  ///
  /// - Parameter skippingSpace: whether white space is allowed anywhere.
  /// - Complexity: O(characters), one table lookup each.
  @inlinable
  package static func decode(_ text: some Collection<UInt8>, skippingSpace: Bool = false) -> [UInt8]? {
    if let result = text.withContiguousStorageIfAvailable({ decode($0, skippingSpace: skippingSpace) }) {
      return result
    }
    return Array(text).withUnsafeBufferPointer { decode($0, skippingSpace: skippingSpace) }
  }

  @usableFromInline
  package static func decode(_ text: UnsafeBufferPointer<UInt8>, skippingSpace: Bool = false) -> [UInt8]? {
    var isValid = true
    let bytes = values.withUnsafeBufferPointer { values in
      [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3 + 3) { output, count in
        var index = 0
        // Whole groups, until the first character outside the alphabet.
        while index + 4 <= text.count {
          let (a, b) = (values[Int(text[index])], values[Int(text[index + 1])])
          let (c, d) = (values[Int(text[index + 2])], values[Int(text[index + 3])])
          guard (a | b | c | d) < 64 else { break }
          let group = UInt32(a) << 18 | UInt32(b) << 12 | UInt32(c) << 6 | UInt32(d)
          output[count] = UInt8(truncatingIfNeeded: group >> 16)
          output[count + 1] = UInt8(truncatingIfNeeded: group >> 8)
          output[count + 2] = UInt8(truncatingIfNeeded: group)
          index += 4
          count += 3
        }
        isValid = finish(text, from: index, values, skippingSpace, into: output, &count)
      }
    }
    return isValid ? bytes : nil
  }

  /// The rest, character by character: white space, padding, the last group.
  private static func finish(
    _ text: UnsafeBufferPointer<UInt8>, from start: Int, _ values: UnsafeBufferPointer<UInt8>, _ skippingSpace: Bool,
    into output: UnsafeMutableBufferPointer<UInt8>, _ count: inout Int
  ) -> Bool {
    var (group, held, padding): (UInt32, Int, Int) = (0, 0, 0)
    for index in start..<text.count {
      let value = values[Int(text[index])]
      switch value {
      case 64 where skippingSpace: continue
      case 65: padding += 1
      case 0..<64 where padding == 0:
        group = group << 6 | UInt32(value)
        held += 1
        guard held == 4 else { continue }
        output[count] = UInt8(truncatingIfNeeded: group >> 16)
        output[count + 1] = UInt8(truncatingIfNeeded: group >> 8)
        output[count + 2] = UInt8(truncatingIfNeeded: group)
        count += 3
        (group, held) = (0, 0)
      default: return false
      }
    }
    guard held != 1, padding == 0 || held + padding == 4 else { return false }
    if held >= 2 {
      output[count] = UInt8(truncatingIfNeeded: group >> (held == 2 ? 4 : 10))
      count += 1
    }
    if held == 3 {
      output[count] = UInt8(truncatingIfNeeded: group >> 2)
      count += 1
    }
    return true
  }

  /// Whether a text has only characters of base64, padding and white space.
  package static func isAlphabet(_ text: some Sequence<UInt8>) -> Bool { text.allSatisfy { values[Int($0)] <= 65 } }

  /// Base64url without padding, as JWS has it (RFC 7515, section 2).
  @inlinable
  package static func encodeURL(_ bytes: some Collection<UInt8>) -> [UInt8] { encodeURL(array: Array(bytes)) }

  /// Base64url without padding, as text.
  @inlinable
  package static func encodeURLText(_ bytes: some Collection<UInt8>) -> String {
    String(decoding: encodeURL(bytes), as: UTF8.self)
  }

  /// Base64 with padding, as for the certificates in `x5c`.
  @inlinable
  package static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] { encode(array: Array(bytes)) }

  @usableFromInline
  static func encode(array bytes: [UInt8]) -> [UInt8] { encode(bytes, alphabet, padded: true) }

  @usableFromInline
  static func encodeURL(array bytes: [UInt8]) -> [UInt8] { encode(bytes, urlAlphabet, padded: false) }

  private static func encode(_ bytes: [UInt8], _ alphabet: [UInt8], padded: Bool) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var (group, held): (UInt32, Int) = (0, 0)
    for byte in bytes {
      group = group << 8 | UInt32(byte)
      held += 1
      guard held == 3 else { continue }
      for shift in [18, 12, 6, 0] as [UInt32] { text.append(alphabet[Int(group >> shift & 63)]) }
      (group, held) = (0, 0)
    }
    if held > 0 {
      group <<= UInt32(8 * (3 - held))
      for shift in [18, 12, 6].prefix(held + 1) as ArraySlice<UInt32> {
        text.append(alphabet[Int(group >> shift & 63)])
      }
      if padded { text.append(contentsOf: repeatElement(UInt8(ascii: "="), count: 3 - held)) }
    }
    return text
  }
}

/// Base64url without padding, read strictly: of all texts that decode to the same bytes only the canonical one is
/// accepted.
package enum Base64URL {
  /// Nil for anything but whole bytes in the alphabet.
  package static func decode(_ text: String) -> [UInt8]? {
    let text = Array(text.utf8)
    guard let bytes = Base64.decode(text), Base64.encodeURL(bytes) == text else { return nil }
    return bytes
  }
}
