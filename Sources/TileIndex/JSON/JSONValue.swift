/// A JSON document (RFC 8259) as it was written: members keep their order, numbers their digits.
///
/// Foundation's decoders want to know the shape beforehand, lose the digits of numbers and take tens of milliseconds to load.
package indirect enum JSONValue: Hashable, Sendable {
  package struct Member: Hashable, Sendable {
    package let name: String
    package let value: JSONValue
  }

  case null
  case bool(Bool)
  /// The number's own text.
  case number(String)
  case string(String)
  case array([JSONValue])
  /// In the order of the text, with repeated names.
  case object([Member])

  /// The members of an object; nil for other values.
  package var members: [Member]? {
    guard case .object(let members) = self else { return nil }
    return members
  }

  /// The first member of a name; nil for other values than objects.
  package subscript(name: String) -> JSONValue? { members?.first { $0.name == name }?.value }

  /// The text of a string; nil for other values.
  package var string: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// The document without spaces.
  package var text: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .number(let text): text
    case .string(let text): Self.quoted(text)
    case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { "\(Self.quoted($0.name)):\($0.value.text)" }.joined(separator: ",") + "}"
    }
  }

  /// A string as JSON writes it, in quotation marks.
  package static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      case "\u{0}"..<"\u{20}":
        quoted += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
