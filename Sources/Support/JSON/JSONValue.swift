import LibC

/// A JSON value (RFC 8259). Numbers keep the digits that they were read or made with, members their order.
///
/// The rule for a name that occurs twice in an object: parsing refuses it, because RFC 8259, section 4, does not say
/// which one counts. Evidence and configuration are parsed with ``DuplicateNames/kept`` and report the name themselves;
/// metadata in bundles of other programs is parsed with ``DuplicateNames/lastWins``.
package enum JSONValue: Hashable, Sendable {
  /// One member of an object.
  package struct Member: Hashable, Sendable {
    package var name: String
    package var value: JSONValue

    package init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// What happens to a name that occurs twice in an object.
  package enum DuplicateNames: Sendable {
    /// The document is an error.
    case refused
    /// The last member of the name is kept, the others are dropped.
    case lastWins
    /// All members are kept, and ``JSONValue/repeatedName`` finds the name.
    case kept
  }

  case null
  case bool(Bool)
  /// A number as written in JSON.
  case number(String)
  case string(String)
  case array([JSONValue])
  case object([Member])

  /// The shortest digits that are read back as the same double; 0 for infinities and NaN, which JSON does not have.
  package static func number(_ value: Double) -> JSONValue { .number(DecimalText.text(value)) }
  package static func number(_ value: Int) -> JSONValue { .number(String(value)) }
  /// An array of numbers.
  package static func numbers(_ values: Double...) -> JSONValue { .array(values.map { .number($0) }) }

  package init(_ number: some BinaryInteger) { self = .number("\(number)") }

  /// Null for nil.
  package init(_ text: String?) { self = text.map(JSONValue.string) ?? .null }

  /// A member of an object; nil also where it is null or this is no object.
  ///
  /// - Complexity: O(members).
  package subscript(name: String) -> JSONValue? {
    guard let value = member(name) else { return nil }
    if case .null = value { return nil }
    return value
  }

  /// A member of an object, also where it is null; nil where there is none or this is no object.
  package func member(_ name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    for member in members where member.name == name { return member.value }
    return nil
  }

  package var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  package var array: [JSONValue]? {
    if case .array(let values) = self { values } else { nil }
  }

  package var members: [Member]? {
    if case .object(let members) = self { members } else { nil }
  }

  /// The kind of a value with its article, for messages.
  package var kind: String { kind(withText: false) }

  /// - Parameter withText: whether a number is shown as it is.
  package func kind(withText: Bool) -> String {
    switch self {
    case .null: "null"
    case .bool: "a truth value"
    case .number(let digits): withText ? digits : "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }

  /// The first name that occurs twice in an object of this value, at any depth; nil where there is none.
  ///
  /// - Complexity: O(bytes).
  package var repeatedName: String? {
    switch self {
    case .array(let values): return values.lazy.compactMap(\.repeatedName).first
    case .object(let members):
      let repeated = Self.firstRepeated(in: members)
      for member in members[..<(repeated ?? members.count)] {
        if let inner = member.value.repeatedName { return inner }
      }
      return repeated.map { members[$0].name }
    default: return nil
    }
  }

  /// The index of the first member with the name of an earlier one.
  ///
  /// - Complexity: O(members). Up to 32 names are compared with each other, which costs less than a set.
  static func firstRepeated(in members: [Member]) -> Int? {
    guard members.count > 32 else {
      for index in members.indices.dropFirst() {
        let name = members[index].name
        for earlier in 0..<index where members[earlier].name == name { return index }
      }
      return nil
    }
    var names = Set<String>(minimumCapacity: members.count)
    return members.firstIndex { !names.insert($0.name).inserted }
  }
}

/// Decimal numbers: the shortest digits that are read back as the same double, without an exponent.
package enum DecimalText {
  /// A number with a fixed count of digits behind the point, as C's `%.*f`; 0 for a number that is not finite.
  package static func fixed(_ value: Double, _ digits: Int) -> String {
    guard value.isFinite else { return "0" }
    var text = [CChar](repeating: 0, count: 512)
    let count = withVaList([digits, value]) { vsnprintf(&text, text.count, "%.*f", $0) }
    return String(decoding: text.prefix(Int(count)).lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  package static func text(_ value: Double) -> String {
    guard value.isFinite, value != 0 else { return "0" }
    var text = value.description
    if text.hasSuffix(".0") { text.removeLast(2) }
    guard let mark = text.firstIndex(of: "e") else { return text }
    let exponent = Int(text[text.index(after: mark)...]) ?? 0
    let sign = value < 0 ? "-" : ""
    let mantissa = text[..<mark].drop { $0 == "-" }.split(separator: ".")
    let whole = String(mantissa[0])
    let digits = whole + (mantissa.count > 1 ? mantissa[1] : "")
    let point = whole.count + exponent
    if point <= 0 { return "\(sign)0.\(String(repeating: "0", count: -point))\(digits)" }
    if point >= digits.count { return sign + digits + String(repeating: "0", count: point - digits.count) }
    return sign + digits.prefix(point) + "." + digits.dropFirst(point)
  }
}
