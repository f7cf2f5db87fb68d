extension JSONValue {
  /// The value as JSON, without spaces, members in their order.
  package var text: String { text(insideMarkup: false) }

  /// The value as JSON, without spaces, in UTF-8.
  package var bytes: [UInt8] { bytes(.script) }

  /// - Parameter insideMarkup: true for a `<script type="application/json">` element: `< > &` are written as `\u`
  ///   escapes, so that no text ends the element.
  package func text(insideMarkup: Bool) -> String {
    String(decoding: bytes(insideMarkup ? .markup : .script), as: UTF8.self)
  }

  private func bytes(_ escapes: JSONEscapes) -> [UInt8] {
    var bytes: [UInt8] = []
    append(to: &bytes, escapes)
    return bytes
  }

  /// The value as JSON for people: a member or item per line, indented by two spaces.
  package var indentedText: String { indented(by: 0) }

  /// The same value with the members of all objects in the order of their names.
  package var sorted: JSONValue {
    switch self {
    case .array(let values): .array(values.map(\.sorted))
    case .object(let members):
      .object(members.sorted { $0.name < $1.name }.map { Member($0.name, $0.value.sorted) })
    default: self
    }
  }

  private func indented(by depth: Int) -> String {
    let (open, close, lines): (String, String, [String]) =
      switch self {
      case .array(let values): ("[", "]", values.map { $0.indented(by: depth + 1) })
      case .object(let members):
        ("{", "}", members.map { "\($0.name.quotedAsJSON): \($0.value.indented(by: depth + 1))" })
      default: ("", "", [])
      }
    guard !open.isEmpty else { return text }
    if lines.isEmpty { return open + close }
    let indent = String(repeating: "  ", count: depth)
    return "\(open)\n" + lines.map { "\(indent)  \($0)" }.joined(separator: ",\n") + "\n\(indent)\(close)"
  }

  private func append(to bytes: inout [UInt8], _ escapes: JSONEscapes) {
    switch self {
    case .null: bytes += "null".utf8
    case .bool(let value): bytes += (value ? "true" : "false").utf8
    case .number(let digits): bytes += digits.utf8
    case .string(let string): escapes.append(string, to: &bytes)
    case .array(let values):
      bytes.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        value.append(to: &bytes, escapes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        escapes.append(member.name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.append(to: &bytes, escapes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }
}

extension String {
  /// The text as a JSON string: quotes, backslashes, control characters and DEL are escaped.
  ///
  /// - Complexity: O(bytes).
  package var quotedAsJSON: String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(utf8.count + 2)
    JSONEscapes.control.append(self, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Writes one JSON object, with members in the order in which they are added. Nil values are omitted.
package struct JSONObjectWriter: Sendable {
  private var members: [String] = []

  package init() {}

  package mutating func add(_ name: String, _ value: String?) {
    if let value { add(name, raw: value.quotedAsJSON) }
  }

  package mutating func add(_ name: String, _ value: (some BinaryInteger)?) {
    if let value { add(name, raw: String(value)) }
  }

  package mutating func add(_ name: String, _ value: Bool?) {
    if let value { add(name, raw: value ? "true" : "false") }
  }

  /// - Parameter raw: JSON.
  package mutating func add(_ name: String, raw: String) { members.append("\(name.quotedAsJSON):\(raw)") }

  package var text: String { "{\(members.joined(separator: ","))}" }
}

/// Which characters of a string are escaped.
private enum JSONEscapes {
  /// Quotes, backslashes, control characters and DEL.
  case control
  /// U+2028 and U+2029 too, which end a line in older JavaScript.
  case script
  /// `< > &` too.
  case markup

  func append(_ string: String, to bytes: inout [UInt8]) {
    let quote = UInt8(ascii: "\"")
    bytes.append(quote)
    var string = string
    string.withUTF8 { text in
      for (index, byte) in text.enumerated() {
        switch byte {
        case quote, UInt8(ascii: "\\"):
          bytes.append(UInt8(ascii: "\\"))
          bytes.append(byte)
        case 0x0a: bytes += #"\n"#.utf8
        case 0x0d: bytes += #"\r"#.utf8
        case 0x09: bytes += #"\t"#.utf8
        case ..<0x20, 0x7f: Self.escape(UInt32(byte), to: &bytes)
        case UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"):
          if self == .markup { Self.escape(UInt32(byte), to: &bytes) } else { bytes.append(byte) }
        // The last byte of E2 80 A8 and E2 80 A9, U+2028 and U+2029.
        case 0xa8, 0xa9:
          if self != .control, index >= 2, text[index - 2] == 0xe2, text[index - 1] == 0x80 {
            bytes.removeLast(2)
            Self.escape(0x2000 | UInt32(byte & 0x3f), to: &bytes)
          } else {
            bytes.append(byte)
          }
        default: bytes.append(byte)
        }
      }
    }
    bytes.append(quote)
  }

  private static func escape(_ unit: UInt32, to bytes: inout [UInt8]) {
    let digits = String(unit, radix: 16)
    bytes += "\\u".utf8
    bytes += repeatElement(UInt8(ascii: "0"), count: 4 - digits.utf8.count)
    bytes += digits.utf8
  }
}
