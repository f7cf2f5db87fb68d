extension JSONValue {
  /// The value as JSON, without spaces.
  package var text: String { text(insideMarkup: false) }

  /// The value as JSON, without spaces, in UTF-8.
  package var bytes: [UInt8] { Array(text(insideMarkup: false).utf8) }

  /// - Parameter insideMarkup: true for a `<script type="application/json">` element, which no `<` may end early:
  ///   `< > &` are then written as `\u` escapes.
  package func text(insideMarkup: Bool) -> String {
    var text = ""
    append(to: &text, insideMarkup)
    return text
  }

  private func append(to text: inout String, _ insideMarkup: Bool) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .number(let digits): text += digits
    case .string(let string): Self.append(string, to: &text, insideMarkup)
    case .array(let values):
      text += "["
      for (index, value) in values.enumerated() {
        if index > 0 { text += "," }
        value.append(to: &text, insideMarkup)
      }
      text += "]"
    case .object(let members):
      text += "{"
      for (index, member) in members.enumerated() {
        if index > 0 { text += "," }
        Self.append(member.name, to: &text, insideMarkup)
        text += ":"
        member.value.append(to: &text, insideMarkup)
      }
      text += "}"
    }
  }

  private static func append(_ string: String, to text: inout String, _ insideMarkup: Bool) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      // The last two end a line in older JavaScript.
      case "\u{0}"..."\u{1f}", "\u{7f}", "\u{2028}", "\u{2029}": text += escape(scalar)
      case "<", ">", "&": if insideMarkup { text += escape(scalar) } else { text.unicodeScalars.append(scalar) }
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
