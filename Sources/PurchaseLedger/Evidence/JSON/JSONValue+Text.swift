extension JSONValue {
  /// The value as JSON, without white space, members in their order.
  package var text: String {
    var text = ""
    write(to: &text)
    return text
  }

  package init(_ number: some BinaryInteger) { self = .number("\(number)") }

  /// Null for nil.
  package init(_ text: String?) { self = text.map(JSONValue.string) ?? .null }

  private func write(to text: inout String) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .number(let digits): text += digits
    case .string(let string): Self.quote(string, to: &text)
    case .array(let elements):
      text += "["
      for (index, element) in elements.enumerated() {
        if index > 0 { text += "," }
        element.write(to: &text)
      }
      text += "]"
    case .object(let members):
      text += "{"
      for (index, member) in members.enumerated() {
        if index > 0 { text += "," }
        Self.quote(member.name, to: &text)
        text += ":"
        member.value.write(to: &text)
      }
      text += "}"
    }
  }

  private static func quote(_ string: String, to text: inout String) { text += string.quotedAsJSON }
}

extension String {
  /// The text as a JSON string: quotes, backslashes and control characters escaped, DEL too, which terminals obey.
  ///
  /// - Complexity: O(bytes).
  package var quotedAsJSON: String {
    let quote = UInt8(ascii: "\"")
    var bytes: [UInt8] = [quote]
    bytes.reserveCapacity(utf8.count + 2)
    for byte in utf8 {
      switch byte {
      case quote, UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case 0x0a: bytes += Array(#"\n"#.utf8)
      case 0x0d: bytes += Array(#"\r"#.utf8)
      case 0x09: bytes += Array(#"\t"#.utf8)
      case ..<0x20, 0x7f: bytes += Array((byte < 16 ? #"\u000"# : #"\u00"#).utf8) + Array(String(byte, radix: 16).utf8)
      default: bytes.append(byte)
      }
    }
    bytes.append(quote)
    return String(decoding: bytes, as: UTF8.self)
  }
}
