import Support

/// What values a property of a style may have.
extension StyleRule.PropertyType {
  /// Reads a property's value. Lists of names need no `literal`, and texts may have names of properties in braces.
  func expression(_ json: JSONValue, at place: String) throws(StyleFault) -> StyleExpression {
    switch (self, json) {
    case (.names, .array(let items)), (.words, .array(let items)):
      let names = items.compactMap(\.string)
      if names.count == items.count, let first = names.first, !["literal", "get", "string"].contains(first) {
        return .literal(StyleValue(json))
      }
    case (.text, .string(let text)): return StyleExpression(tokens: text)
    case (_, .object):
      return try StyleExpression.function(json, at: place, isStepped: isStepped) { (result, place) throws(StyleFault) in
        try expression(result, at: place)
      }
    default: break
    }
    return try StyleExpression(json, at: place)
  }

  /// Whether values between two stops of a zoom function are those of the stop before.
  private var isStepped: Bool {
    switch self {
    case .number, .colour, .offset: false
    case .numbers, .word, .words, .flag, .text, .names: true
    }
  }

  /// What is wrong with a property's expression: with its value, or with one among which it chooses; nil if nothing is.
  /// Values of features are not known before they are drawn: of one that is wrong the property's default is drawn.
  func complaint(_ expression: StyleExpression) -> String? {
    switch expression {
    case .literal(let value): return complaint(value).map { "\($0): \(Self.shown(value))" }
    case .interpolate where !isInterpolated: return "cannot be interpolated; write \"step\""
    default:
      return choices(expression).lazy.compactMap { choice -> String? in
        // Texts may be chosen among numbers.
        if self == .text, case .literal(.number) = choice { return nil }
        return complaint(choice)
      }.first
    }
  }

  private var isInterpolated: Bool { !isStepped || self == .numbers }

  /// The expressions of which one is an expression's value; none if it is computed.
  private func choices(_ expression: StyleExpression) -> [StyleExpression] {
    switch expression {
    case .match(_, let matches, let other): matches.map(\.result) + [other]
    case .choose(let branches, let other): branches.map(\.result) + [other]
    case .coalesce(let parts): parts
    case .step(_, let first, let stops): [first] + stops.map(\.result)
    case .interpolate(_, _, let stops): stops.map(\.result)
    default: []
    }
  }

  private static func shown(_ value: StyleValue) -> String {
    switch value {
    case .string(let text): "\"\(text)\""
    case .list(let items): "[\(items.map(shown).joined(separator: ", "))]"
    case .null: "null"
    default: value.text
    }
  }

  /// What is wrong with a plain value; nil if nothing is.
  private func complaint(_ value: StyleValue) -> String? {
    switch self {
    case .number(let limits):
      if let number = value.number, limits.contains(number) { return nil }
      return "is not a number from \(DecimalText.text(limits.lowerBound)) to \(DecimalText.text(limits.upperBound))"
    case .colour: return value.colour == nil ? "is no colour" : nil
    case .word(let words):
      if let word = value.string, words.contains(word) { return nil }
      return "is not \(words.joined(separator: " or "))"
    case .words(let words):
      guard case .list(let items) = value, !items.isEmpty else { return "is no list" }
      let isGood = items.allSatisfy { $0.string.map(words.contains) ?? false }
      return isGood ? nil : "is not a list of \(words.joined(separator: ", "))"
    case .flag: return value == .bool(true) || value == .bool(false) ? nil : "is neither true nor false"
    case .text: return value.string == nil ? "is no text" : nil
    case .names:
      guard case .list(let items) = value, !items.isEmpty, items.allSatisfy({ $0.string?.isEmpty == false }) else {
        return "is no list of names"
      }
      return nil
    case .offset:
      guard case .list(let items) = value, items.count == 2, items.allSatisfy({ $0.number != nil }) else {
        return "is no list of two numbers"
      }
      return nil
    case .numbers:
      guard case .list(let items) = value else { return "is no list of lengths" }
      let lengths = items.compactMap(\.number)
      let isGood = lengths.count == items.count && lengths.allSatisfy { $0 >= 0 } && lengths.contains { $0 > 0 }
      return isGood ? nil : "is no list of lengths"
    }
  }
}
