/// A JSON value as it was written: numbers keep their digits, objects their order.
///
/// Stores mix numbers and text for ids and dates, so the accessors take either where that is what stores do.
package enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  /// The digits as written.
  case number(String)
  case string(String)
  case array([JSONValue])
  /// Members in their order; of equal names the first counts.
  case object([Member])

  package struct Member: Sendable, Equatable {
    package var name: String
    package var value: JSONValue

    package init(name: String, value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// The member of an object; nil also where it is null.
  /// - Complexity: O(members).
  package subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    for member in members where member.name == name {
      if case .null = member.value { return nil }
      return member.value
    }
    return nil
  }

  /// Text without a character: what some answers have where there is nothing.
  package var isEmptyText: Bool {
    if case .string(let text) = self { text.isEmpty } else { false }
  }

  package var elements: [JSONValue]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  package var members: [Member]? {
    if case .object(let members) = self { members } else { nil }
  }

  package var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// Quarantine for a text that says something twice, however deep: which of the two counts, readers of JSON do not agree on (RFC 8259, section 4).
  ///
  /// - Complexity: O(bytes). The few dozen members of what stores sign are compared with each other, which costs less than a set.
  package var repetition: Refusal? {
    switch self {
    case .array(let elements): return elements.lazy.compactMap(\.repetition).first
    case .object(let members):
      var names: Set<String> = []
      for (index, member) in members.enumerated() {
        let isRepeated =
          members.count > 32
          ? !names.insert(member.name).inserted : members[..<index].contains { $0.name == member.name }
        if isRepeated {
          return Refusal(.inconsistent, "\"\(member.name.prefix(80))\" is there twice")
        }
        if let inner = member.value.repetition { return inner }
      }
      return nil
    default: return nil
    }
  }

  package var bool: Bool? {
    switch self {
    case .bool(let value): value
    case .string("true"): true
    case .string("false"): false
    default: nil
    }
  }

  /// An id: text, or the digits of a whole number.
  package var identifier: String? {
    switch self {
    case .string(let text): text
    case .number(let digits) where Int64(digits) != nil: digits
    default: nil
    }
  }

  /// A whole number, also written as text; a fraction is cut off. Nil beyond 64 bits.
  package var integer: Int64? {
    switch self {
    case .number(let digits), .string(let digits):
      if let value = Int64(digits) { return value }
      guard let double = Double(digits), double.isFinite, abs(double) < 9e18 else { return nil }
      return Int64(double)
    default: return nil
    }
  }
}
