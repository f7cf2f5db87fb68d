extension JSONValue {
  /// Where and why a text is not JSON.
  package struct SyntaxError: Error, Hashable, CustomStringConvertible {
    /// Counts from 1.
    package let line: Int
    /// In bytes, counts from 1.
    package let column: Int
    package let message: String
    package var description: String { "line \(line): \(message)" }
  }

  /// Reads a document in UTF-8; bytes that are not UTF-8 are repaired.
  ///
  /// - Throws: ``SyntaxError``, also when arrays and objects lie more than 128 deep in each other.
  /// - Complexity: O(bytes), and memory in proportion.
  package init(parsing bytes: [UInt8]) throws(SyntaxError) {
    var parser = JSONParser(bytes: bytes)
    self = try parser.document()
  }
}

/// Recursive descent over the bytes of a document.
private struct JSONParser {
  let bytes: [UInt8]
  private var index = 0
  private var depth = 0

  // Each level costs some stack, and strangers write the documents.
  static let depthMax = 128

  init(bytes: [UInt8]) {
    self.bytes = bytes
    if bytes.starts(with: [0xef, 0xbb, 0xbf]) { index = 3 }
  }

  mutating func document() throws(JSONValue.SyntaxError) -> JSONValue {
    let value = try value()
    skipSpace()
    guard index == bytes.count else { throw error("something follows the document") }
    return value
  }

  private func error(_ message: String) -> JSONValue.SyntaxError {
    let before = bytes[..<min(index, bytes.count)]
    let line = before.count { $0 == UInt8(ascii: "\n") } + 1
    let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return JSONValue.SyntaxError(
      line: line, column: before.count - lineStart + 1, message: index >= bytes.count ? "the text ends early" : message)
  }

  private var current: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipSpace() {
    while let byte = current, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { index += 1 }
  }

  /// Steps over a byte if it is the next after spaces.
  private mutating func skip(_ byte: Unicode.Scalar) -> Bool {
    skipSpace()
    guard current == UInt8(ascii: byte) else { return false }
    index += 1
    return true
  }

  private mutating func skip(word: String) -> Bool {
    guard bytes[index...].starts(with: word.utf8) else { return false }
    index += word.utf8.count
    return true
  }

  private mutating func value() throws(JSONValue.SyntaxError) -> JSONValue {
    skipSpace()
    switch current {
    case UInt8(ascii: "{"): return try nested { parser throws(JSONValue.SyntaxError) in try parser.object() }
    case UInt8(ascii: "["): return try nested { parser throws(JSONValue.SyntaxError) in try parser.array() }
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t") where skip(word: "true"): return .bool(true)
    case UInt8(ascii: "f") where skip(word: "false"): return .bool(false)
    case UInt8(ascii: "n") where skip(word: "null"): return .null
    default: return .number(try number())
    }
  }

  private mutating func nested(
    _ body: (inout JSONParser) throws(JSONValue.SyntaxError) -> JSONValue
  ) throws(JSONValue.SyntaxError) -> JSONValue {
    guard depth < Self.depthMax else { throw error("more than \(Self.depthMax) values lie in each other") }
    depth += 1
    index += 1
    let value = try body(&self)
    depth -= 1
    return value
  }

  private mutating func object() throws(JSONValue.SyntaxError) -> JSONValue {
    var members: [JSONValue.Member] = []
    if skip("}") { return .object(members) }
    repeat {
      skipSpace()
      guard current == UInt8(ascii: "\"") else { throw error("a name in quotation marks is missing") }
      let name = try string()
      guard skip(":") else { throw error("a colon is missing") }
      members.append(JSONValue.Member(name, try value()))
    } while skip(",")
    guard skip("}") else { throw error("a comma or a closing brace is missing") }
    return .object(members)
  }

  private mutating func array() throws(JSONValue.SyntaxError) -> JSONValue {
    var values: [JSONValue] = []
    if skip("]") { return .array(values) }
    repeat { values.append(try value()) } while skip(",")
    guard skip("]") else { throw error("a comma or a closing bracket is missing") }
    return .array(values)
  }

  private mutating func number() throws(JSONValue.SyntaxError) -> String {
    let start = index
    func isDigit(_ byte: UInt8?) -> Bool { byte.map { $0 >= 0x30 && $0 <= 0x39 } ?? false }
    func digits(_ parser: inout JSONParser) -> Bool {
      guard isDigit(parser.current) else { return false }
      while isDigit(parser.current) { parser.index += 1 }
      return true
    }
    if current == UInt8(ascii: "-") { index += 1 }
    let isZero = current == UInt8(ascii: "0")
    let whole = index
    guard digits(&self), !isZero || index == whole + 1 else { throw error("a value is missing or is none") }
    if current == UInt8(ascii: ".") {
      index += 1
      guard digits(&self) else { throw error("a digit is missing") }
    }
    if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
      index += 1
      if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { index += 1 }
      guard digits(&self) else { throw error("a digit is missing") }
    }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  private mutating func string() throws(JSONValue.SyntaxError) -> String {
    index += 1
    var units: [UInt8] = []
    while let byte = current {
      switch byte {
      case UInt8(ascii: "\""):
        index += 1
        return String(decoding: units, as: UTF8.self)
      case UInt8(ascii: "\\"):
        index += 1
        units += Array(String(try escaped()).utf8)
      case 0..<0x20: throw error("a control character stands in a string")
      default:
        units.append(byte)
        index += 1
      }
    }
    throw error("a string has no end")
  }

  /// What stands behind a backslash. Half a surrogate pair becomes U+FFFD.
  private mutating func escaped() throws(JSONValue.SyntaxError) -> Unicode.Scalar {
    guard let byte = current else { throw error("a string has no end") }
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{c}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      let unit = try hexadecimal()
      if let scalar = Unicode.Scalar(unit) { return scalar }
      let mark = index
      if unit < 0xdc00, skip(word: "\\u") {
        let low = try hexadecimal()
        if (0xdc00...0xdfff).contains(low) {
          return Unicode.Scalar(0x10000 + (unit - 0xd800) << 10 + (low - 0xdc00)) ?? "\u{fffd}"
        }
        index = mark
      }
      return "\u{fffd}"
    default: throw error("a backslash stands before a character that needs none")
    }
  }

  private mutating func hexadecimal() throws(JSONValue.SyntaxError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = current.flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }) else {
        throw error("a hexadecimal digit is missing")
      }
      value = value << 4 | UInt32(digit)
      index += 1
    }
    return value
  }
}
