/// A JSON value (RFC 8259). Numbers keep the digits that they were read or made with, members their order.
package indirect enum JSONValue: Hashable, Sendable {
  /// One member of an object.
  package struct Member: Hashable, Sendable {
    package let name: String
    package let value: JSONValue

    package init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  case null
  case bool(Bool)
  /// A number as it stands in JSON.
  case number(String)
  case string(String)
  case array([JSONValue])
  case object([Member])

  /// The shortest digits that read back as the same double; 0 for what is not finite, which JSON cannot say.
  package static func number(_ value: Double) -> JSONValue { .number(DecimalText.text(value)) }
  package static func number(_ value: Int) -> JSONValue { .number(String(value)) }
  /// An array of numbers.
  package static func numbers(_ values: Double...) -> JSONValue { .array(values.map { .number($0) }) }

  /// A member of an object, the last of a repeated name; nil where there is none or this is no object.
  package subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.last { $0.name == name }?.value
  }

  package var string: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  package var array: [JSONValue]? {
    guard case .array(let values) = self else { return nil }
    return values
  }

  package var members: [Member]? {
    guard case .object(let members) = self else { return nil }
    return members
  }
}
