extension JSONValue {
  /// Reads a JSON text whole (RFC 8259); nil when it is not one, or nests deeper than 64 levels.
  /// - Complexity: O(bytes).
  package init?(parsing text: String) {
    var parser = JSONParser(Array(text.utf8))
    guard let value = parser.document() else { return nil }
    self = value
  }
}

/// A strict recursive reader of JSON; every function leaves its place behind what it read and gives nil for what is not JSON.
private struct JSONParser {
  private let bytes: [UInt8]
  private var place = 0
  /// Deeper texts are refused: nesting costs stack, and no metadata need it.
  private static let depthMax = 64

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func document() -> JSONValue? {
    guard let value = value(depth: 0) else { return nil }
    skipSpace()
    return place == bytes.count ? value : nil
  }

  private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d { place += 1 }
  }

  /// Steps over an expected byte.
  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    place += 1
    return true
  }

  private mutating func take(_ word: StaticString, as value: JSONValue) -> JSONValue? {
    let length = word.utf8CodeUnitCount
    let expected = UnsafeBufferPointer(start: word.utf8Start, count: length)
    guard place + length <= bytes.count, bytes[place..<(place + length)].elementsEqual(expected) else { return nil }
    place += length
    return value
  }

  private mutating func value(depth: Int) -> JSONValue? {
    guard depth < Self.depthMax else { return nil }
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return object(depth: depth)
    case UInt8(ascii: "["): return array(depth: depth)
    case UInt8(ascii: "\""): return string().map { .string($0) }
    case UInt8(ascii: "t"): return take("true", as: .bool(true))
    case UInt8(ascii: "f"): return take("false", as: .bool(false))
    case UInt8(ascii: "n"): return take("null", as: .null)
    default: return number()
    }
  }

  private mutating func object(depth: Int) -> JSONValue? {
    place += 1
    var members: [JSONValue.Member] = []
    skipSpace()
    if take("}") { return .object(members) }
    while true {
      skipSpace()
      guard next == UInt8(ascii: "\""), let name = string() else { return nil }
      skipSpace()
      guard take(":"), let value = value(depth: depth + 1) else { return nil }
      members.append(JSONValue.Member(name, value))
      skipSpace()
      if take("}") { return .object(members) }
      guard take(",") else { return nil }
    }
  }

  private mutating func array(depth: Int) -> JSONValue? {
    place += 1
    var values: [JSONValue] = []
    skipSpace()
    if take("]") { return .array(values) }
    while true {
      guard let value = value(depth: depth + 1) else { return nil }
      values.append(value)
      skipSpace()
      if take("]") { return .array(values) }
      guard take(",") else { return nil }
    }
  }

  private mutating func number() -> JSONValue? {
    let start = place
    _ = take("-")
    if !take("0"), !digits() { return nil }
    if take("."), !digits() { return nil }
    if take("e") || take("E") {
      if !take("+") { _ = take("-") }
      guard digits() else { return nil }
    }
    return .number(String(decoding: bytes[start..<place], as: UTF8.self))
  }

  /// One digit or more.
  private mutating func digits() -> Bool {
    let start = place
    while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { place += 1 }
    return place > start
  }

  private mutating func string() -> String? {
    place += 1
    var text: [UInt8] = []
    while let byte = next {
      place += 1
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let scalar = escape() else { return nil }
        text += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
      case 0..<0x20: return nil
      default: text.append(byte)
      }
    }
    return nil
  }

  /// What stands behind a backslash. Half a surrogate pair becomes U+FFFD.
  private mutating func escape() -> Unicode.Scalar? {
    guard let byte = next else { return nil }
    place += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{c}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      guard let unit = fourDigits() else { return nil }
      let rest = place
      if unit >> 10 == 0x36, take("\\"), take("u"), let low = fourDigits(), low >> 10 == 0x37 {
        return Unicode.Scalar(0x10000 + (unit & 0x3ff) << 10 + low & 0x3ff)
      }
      place = rest
      return Unicode.Scalar(unit) ?? "\u{fffd}"
    default: return nil
    }
  }

  private mutating func fourDigits() -> UInt32? {
    guard place + 4 <= bytes.count else { return nil }
    var unit: UInt32 = 0
    for byte in bytes[place..<(place + 4)] {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
      unit = unit << 4 | UInt32(digit)
    }
    place += 4
    return unit
  }
}
