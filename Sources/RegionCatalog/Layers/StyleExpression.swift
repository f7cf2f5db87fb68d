import LibC

/// An expression of the MapLibre style specification.
package indirect enum StyleExpression: Hashable, Sendable {
  package enum Comparison: String, Hashable, Sendable {
    case equal = "=="
    case unequal = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
  }

  package enum Arithmetic: String, Hashable, Sendable {
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case remainder = "%"
    case power = "^"
  }

  package enum Rounding: String, Hashable, Sendable {
    case round, floor, ceil, abs
  }

  /// A result, and what leads to it.
  package struct Branch: Hashable, Sendable {
    package let condition: StyleExpression
    package let result: StyleExpression
  }

  package struct Stop: Hashable, Sendable {
    package let input: Double
    package let result: StyleExpression
  }

  package struct Match: Hashable, Sendable {
    package let labels: [StyleValue]
    package let result: StyleExpression
  }

  case literal(StyleValue)
  case get(String)
  case has(String)
  case geometryType
  case zoom
  case compare(Comparison, StyleExpression, StyleExpression)
  case not(StyleExpression)
  case all([StyleExpression])
  case any([StyleExpression])
  /// Whether the first is an element or a part of the second.
  case contains(StyleExpression, StyleExpression)
  case match(StyleExpression, [Match], StyleExpression)
  case choose([Branch], StyleExpression)
  case coalesce([StyleExpression])
  case step(StyleExpression, StyleExpression, [Stop])
  case interpolate(base: Double, StyleExpression, [Stop])
  case toNumber(StyleExpression)
  case toText(StyleExpression)
  case concatenate([StyleExpression])
  case compute(Arithmetic, [StyleExpression])
  case simplify(Rounding, StyleExpression)
  case changeCase(StyleExpression, isUpper: Bool)

  /// The expression's value for a feature at a zoom; null where the specification has an error.
  package func value(zoom: Double, _ feature: MapFeature) -> StyleValue {
    func of(_ expression: StyleExpression) -> StyleValue { expression.value(zoom: zoom, feature) }
    switch self {
    case .literal(let value): return value
    case .get(let name): return feature.properties[name] ?? .null
    case .has(let name): return .bool(feature.properties[name] != nil)
    case .geometryType: return .string(feature.kind.rawValue)
    case .zoom: return .number(zoom)
    case .compare(let comparison, let a, let b): return .bool(Self.compare(comparison, of(a), of(b)))
    case .not(let part): return .bool(!of(part).isTrue)
    case .all(let parts): return .bool(parts.allSatisfy { of($0).isTrue })
    case .any(let parts): return .bool(parts.contains { of($0).isTrue })
    case .contains(let part, let whole):
      switch of(whole) {
      case .list(let items): return .bool(items.contains(of(part)))
      case .string(let text): return .bool(of(part).string.map { text.contains($0) } ?? false)
      default: return .bool(false)
      }
    case .match(let input, let matches, let other):
      let value = of(input)
      return of(matches.first { $0.labels.contains(value) }?.result ?? other)
    case .choose(let branches, let other): return of(branches.first { of($0.condition).isTrue }?.result ?? other)
    case .coalesce(let parts): return parts.lazy.map(of).first { $0 != .null } ?? .null
    case .step(let input, let first, let stops):
      guard let value = of(input).number else { return .null }
      return of(stops.last { $0.input <= value }?.result ?? first)
    case .interpolate(let base, let input, let stops):
      guard let value = of(input).number else { return .null }
      return Self.interpolate(base: base, at: value, stops, of)
    case .toNumber(let part):
      switch of(part) {
      case .number(let value): return .number(value)
      case .bool(let flag): return .number(flag ? 1 : 0)
      case .string(let text): return Double(text).map { .number($0) } ?? .null
      default: return .null
      }
    case .toText(let part): return .string(of(part).text)
    case .concatenate(let parts): return .string(parts.map { of($0).text }.joined())
    case .changeCase(let part, let isUpper):
      let text = of(part).text
      return .string(isUpper ? text.uppercased() : text.lowercased())
    case .simplify(let rounding, let part):
      guard let number = of(part).number else { return .null }
      switch rounding {
      case .round: return .number(number.rounded())
      case .floor: return .number(number.rounded(.down))
      case .ceil: return .number(number.rounded(.up))
      case .abs: return .number(number.magnitude)
      }
    case .compute(let operation, let parts): return Self.compute(operation, parts.map { of($0).number })
    }
  }

  /// The names of the properties on which the value depends.
  var propertyNames: Set<String> {
    func names(_ parts: [StyleExpression]) -> Set<String> { parts.reduce(into: []) { $0.formUnion($1.propertyNames) } }
    return switch self {
    case .literal, .geometryType, .zoom: []
    case .get(let name), .has(let name): [name]
    case .not(let part), .toNumber(let part), .toText(let part), .simplify(_, let part), .changeCase(let part, _):
      part.propertyNames
    case .compare(_, let a, let b), .contains(let a, let b): names([a, b])
    case .all(let parts), .any(let parts), .coalesce(let parts), .concatenate(let parts), .compute(_, let parts):
      names(parts)
    case .match(let input, let matches, let other): names([input, other] + matches.map(\.result))
    case .choose(let branches, let other): names([other] + branches.flatMap { [$0.condition, $0.result] })
    case .step(let input, let first, let stops): names([input, first] + stops.map(\.result))
    case .interpolate(_, let input, let stops): names([input] + stops.map(\.result))
    }
  }

  private static func compare(_ comparison: Comparison, _ a: StyleValue, _ b: StyleValue) -> Bool {
    func isOrdered(_ numbers: (Double, Double) -> Bool, _ texts: (String, String) -> Bool) -> Bool {
      if let a = a.number, let b = b.number { return numbers(a, b) }
      if let a = a.string, let b = b.string { return texts(a, b) }
      return false
    }
    return switch comparison {
    case .equal: a == b
    case .unequal: a != b
    case .less: isOrdered(<, <)
    case .lessOrEqual: isOrdered(<=, <=)
    case .greater: isOrdered(>, >)
    case .greaterOrEqual: isOrdered(>=, >=)
    }
  }

  private static func compute(_ operation: Arithmetic, _ values: [Double?]) -> StyleValue {
    let numbers = values.compactMap { $0 }
    guard numbers.count == values.count, let first = numbers.first else { return .null }
    if operation == .subtract, numbers.count == 1 { return .number(-first) }
    let result = numbers.dropFirst().reduce(first) { a, b in
      switch operation {
      case .add: a + b
      case .subtract: a - b
      case .multiply: a * b
      case .divide: a / b
      case .remainder: b == 0 ? .nan : a.truncatingRemainder(dividingBy: b)
      case .power: Exponential.power(a, b)
      }
    }
    return result.isFinite ? .number(result) : .null
  }

  private static func interpolate(
    base: Double, at value: Double, _ stops: [Stop], _ of: (StyleExpression) -> StyleValue
  ) -> StyleValue {
    guard let next = stops.firstIndex(where: { $0.input > value }) else { return of(stops[stops.count - 1].result) }
    guard next > 0 else { return of(stops[0].result) }
    let (low, high) = (stops[next - 1], stops[next])
    let share = Exponential.share(value - low.input, of: high.input - low.input, base: base)
    let (a, b) = (of(low.result), of(high.result))
    if let a = a.number, let b = b.number { return .number(a + (b - a) * share) }
    if let a = a.colour, let b = b.colour { return .colour(a.mixed(with: b, share: share)) }
    if case .list(let a) = a, case .list(let b) = b, a.count == b.count {
      return .list(
        zip(a, b).map { a, b in
          guard let a = a.number, let b = b.number else { return .null }
          return .number(a + (b - a) * share)
        })
    }
    return .null
  }
}

/// Powers, which Swift's standard library lacks.
enum Exponential {
  static func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }

  /// The share of a way at a value under exponential growth, as the specification's `exponential` has it.
  static func share(_ value: Double, of whole: Double, base: Double) -> Double {
    base == 1 ? value / whole : (pow(base, value) - 1) / (pow(base, whole) - 1)
  }
}

extension MapColour {
  /// A colour between two, in premultiplied components.
  func mixed(with other: MapColour, share: Double) -> MapColour {
    let (a, b) = (Double(alpha) * (1 - share), Double(other.alpha) * share)
    guard a + b > 0 else { return MapColour(red: 0, green: 0, blue: 0, alpha: 0) }
    func channel(_ one: UInt8, _ two: UInt8) -> UInt8 {
      UInt8(((Double(one) * a + Double(two) * b) / (a + b)).rounded())
    }
    return MapColour(
      red: channel(red, other.red), green: channel(green, other.green), blue: channel(blue, other.blue),
      alpha: UInt8((a + b).rounded()))
  }
}
