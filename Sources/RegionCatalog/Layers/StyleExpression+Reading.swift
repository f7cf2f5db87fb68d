package import Support

/// What is wrong with a style, and where in it.
package struct StyleFault: Error {
  /// Such as `paint.line-width[2]`.
  package let place: String
  package let message: String
}

extension StyleExpression {
  /// Reads an expression, a literal, or a function with `stops` of earlier versions of the specification.
  ///
  /// - Throws: ``StyleFault`` naming what is not supported.
  package init(_ json: JSONValue, at place: String) throws(StyleFault) {
    switch json {
    case .array(let items): self = try Self.read(items, at: place)
    case .object:
      self = try Self.function(json, at: place, isStepped: false) { (result, place) throws(StyleFault) in
        try StyleExpression(result, at: place)
      }
    default: self = .literal(StyleValue(json))
    }
  }

  private static func read(_ items: [JSONValue], at place: String) throws(StyleFault) -> StyleExpression {
    // A list that begins with a number is one of dashes.
    guard let name = items.first?.string else { return .literal(StyleValue(.array(items))) }
    let arguments = Array(items.dropFirst())
    func need(_ counts: ClosedRange<Int>) throws(StyleFault) {
      guard counts.contains(arguments.count) else {
        throw StyleFault(place: place, message: "is \"\(name)\" with \(arguments.count) arguments")
      }
    }
    func part(_ index: Int) throws(StyleFault) -> StyleExpression {
      try StyleExpression(arguments[index], at: "\(place)[\(index + 1)]")
    }
    func parts() throws(StyleFault) -> [StyleExpression] {
      var parts: [StyleExpression] = []
      for index in arguments.indices { parts.append(try part(index)) }
      return parts
    }
    func text(_ index: Int) throws(StyleFault) -> String {
      guard let text = arguments[index].string else {
        throw StyleFault(place: "\(place)[\(index + 1)]", message: "is not a property's name")
      }
      return text
    }
    if let comparison = Comparison(rawValue: name) {
      try need(2...2)
      return .compare(comparison, try part(0), try part(1))
    }
    if let operation = Arithmetic(rawValue: name) {
      try need(1...100)
      return .compute(operation, try parts())
    }
    switch name {
    case "literal":
      try need(1...1)
      return .literal(StyleValue(arguments[0]))
    case "get":
      try need(1...1)
      return .get(try text(0))
    case "has":
      try need(1...1)
      return .has(try text(0))
    case "geometry-type": return .geometryType
    case "zoom": return .zoom
    case "!":
      try need(1...1)
      return .not(try part(0))
    case "all": return .all(try parts())
    case "any": return .any(try parts())
    case "in":
      try need(2...2)
      return .contains(try part(0), try part(1))
    case "upcase", "downcase":
      try need(1...1)
      return .changeCase(try part(0), isUpper: name == "upcase")
    case "round", "floor", "ceil", "abs":
      try need(1...1)
      return .simplify(Rounding(rawValue: name)!, try part(0))
    case "coalesce": return .coalesce(try parts())
    case "concat": return .concatenate(try parts())
    case "to-number":
      try need(1...1)
      return .toNumber(try part(0))
    case "to-string", "string":
      try need(1...1)
      return .toText(try part(0))
    case "number", "to-color", "boolean":
      try need(1...1)
      return try part(0)
    case "match": return try match(arguments, at: place)
    case "case": return try choice(arguments, at: place)
    case "step":
      try need(2...1000)
      return .step(try part(0), try part(1), try stops(arguments, from: 2, at: place))
    case "interpolate":
      try need(4...1000)
      return .interpolate(
        base: try base(arguments[0], at: "\(place)[1]"), try part(1), try stops(arguments, from: 2, at: place))
    default: throw StyleFault(place: place, message: "is an expression that is not supported: \"\(name)\"")
    }
  }

  /// Of a text like `{name} {ele} m`.
  init(tokens text: String) {
    guard text.contains("{") else {
      self = .literal(.string(text))
      return
    }
    var parts: [StyleExpression] = []
    var rest = text[...]
    while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
      parts.append(.literal(.string(String(rest[..<open]))))
      parts.append(.get(String(rest[rest.index(after: open)..<close])))
      rest = rest[rest.index(after: close)...]
    }
    self = .concatenate(parts + [.literal(.string(String(rest)))])
  }

  private static func base(_ json: JSONValue, at place: String) throws(StyleFault) -> Double {
    switch json.array?.first?.string {
    case "linear": return 1
    case "exponential":
      if let base = json.array?.dropFirst().first?.finite, base > 0 { return base }
      throw StyleFault(place: place, message: "has no base above 0")
    default: throw StyleFault(place: place, message: "is neither [\"linear\"] nor [\"exponential\", base]")
    }
  }

  private static func stops(
    _ arguments: [JSONValue], from start: Int, at place: String
  ) throws(StyleFault) -> [Stop] {
    guard (arguments.count - start).isMultiple(of: 2) else {
      throw StyleFault(place: place, message: "ends with a stop without a result")
    }
    var stops: [Stop] = []
    for index in stride(from: start, to: arguments.count, by: 2) {
      guard let input = arguments[index].finite, stops.last.map({ $0.input < input }) ?? true else {
        throw StyleFault(place: "\(place)[\(index + 1)]", message: "is not a number above the stop before")
      }
      stops.append(
        Stop(input: input, result: try StyleExpression(arguments[index + 1], at: "\(place)[\(index + 2)]")))
    }
    return stops
  }

  private static func match(_ arguments: [JSONValue], at place: String) throws(StyleFault) -> StyleExpression {
    guard arguments.count >= 4, arguments.count.isMultiple(of: 2) else {
      throw StyleFault(place: place, message: "needs an input, labels with results, and a result for all else")
    }
    var matches: [Match] = []
    for index in stride(from: 1, to: arguments.count - 1, by: 2) {
      let labels = arguments[index].array?.map(StyleValue.init) ?? [StyleValue(arguments[index])]
      matches.append(
        Match(labels: labels, result: try StyleExpression(arguments[index + 1], at: "\(place)[\(index + 2)]")))
    }
    return .match(
      try StyleExpression(arguments[0], at: "\(place)[1]"), matches,
      try StyleExpression(arguments[arguments.count - 1], at: "\(place)[\(arguments.count)]"))
  }

  private static func choice(_ arguments: [JSONValue], at place: String) throws(StyleFault) -> StyleExpression {
    guard arguments.count >= 3, !arguments.count.isMultiple(of: 2) else {
      throw StyleFault(place: place, message: "needs conditions with results, and a result for all else")
    }
    var branches: [Branch] = []
    for index in stride(from: 0, to: arguments.count - 1, by: 2) {
      branches.append(
        Branch(
          condition: try StyleExpression(arguments[index], at: "\(place)[\(index + 1)]"),
          result: try StyleExpression(arguments[index + 1], at: "\(place)[\(index + 2)]")))
    }
    return .choose(
      branches, try StyleExpression(arguments[arguments.count - 1], at: "\(place)[\(arguments.count)]"))
  }

  /// Reads `{"base": 1.2, "stops": [[5, 1], [12, 3]]}`, a function of the zoom.
  ///
  /// - Parameters:
  ///   - isStepped: whether a stop's result holds up to the next one, as it does for what cannot be interpolated.
  ///   - result: reads a stop's result.
  static func function(
    _ json: JSONValue, at place: String, isStepped: Bool,
    result: (JSONValue, _ place: String) throws(StyleFault) -> StyleExpression
  ) throws(StyleFault) -> StyleExpression {
    for member in json.members ?? [] where !["base", "stops"].contains(member.name) {
      throw StyleFault(place: "\(place).\(member.name)", message: "is not supported; write an expression")
    }
    guard let pairs = json["stops"]?.array, !pairs.isEmpty else {
      throw StyleFault(place: "\(place).stops", message: "is missing")
    }
    var stops: [Stop] = []
    for (index, pair) in pairs.enumerated() {
      let spot = "\(place).stops[\(index)]"
      guard let pair = pair.array, pair.count == 2 else {
        throw StyleFault(place: spot, message: "is not a zoom and a value")
      }
      guard let input = pair[0].finite, stops.last.map({ $0.input < input }) ?? true else {
        throw StyleFault(place: "\(spot)[0]", message: "is not a number above the stop before")
      }
      stops.append(Stop(input: input, result: try result(pair[1], "\(spot)[1]")))
    }
    return isStepped
      ? .step(.zoom, stops[0].result, stops) : .interpolate(base: json["base"]?.finite ?? 1, .zoom, stops)
  }
}

// MARK: - Filters

extension StyleExpression {
  /// Reads a filter: an expression, or one in the form of earlier versions, in which names of properties are plain
  /// texts.
  package init(filter json: JSONValue, at place: String) throws(StyleFault) {
    guard let items = json.array, let name = items.first?.string, !Self.isExpression(json) else {
      try self.init(json, at: place)
      return
    }
    let arguments = Array(items.dropFirst())
    func property() throws(StyleFault) -> StyleExpression {
      guard let text = arguments.first?.string else { throw StyleFault(place: place, message: "names no property") }
      return text == "$type" ? .geometryType : .get(text)
    }
    func parts() throws(StyleFault) -> [StyleExpression] {
      var parts: [StyleExpression] = []
      for (index, part) in arguments.enumerated() {
        parts.append(try StyleExpression(filter: part, at: "\(place)[\(index + 1)]"))
      }
      return parts
    }
    let values = arguments.dropFirst().map(StyleValue.init)
    switch name {
    case "all": self = .all(try parts())
    case "any": self = .any(try parts())
    case "none": self = .not(.any(try parts()))
    case "has": self = .has(arguments.first?.string ?? "")
    case "!has": self = .not(.has(arguments.first?.string ?? ""))
    case "in": self = .contains(try property(), .literal(.list(values)))
    case "!in": self = .not(.contains(try property(), .literal(.list(values))))
    default:
      guard let comparison = Comparison(rawValue: name), values.count == 1 else {
        throw StyleFault(place: place, message: "is a filter that is not supported: \"\(name)\"")
      }
      self = .compare(comparison, try property(), .literal(values[0]))
    }
  }

  /// Whether a filter is an expression, as the specification tells the two forms apart.
  private static func isExpression(_ json: JSONValue) -> Bool {
    guard let items = json.array, let name = items.first?.string else { return true }
    switch name {
    case "has": return items.count >= 2 && items[1].string != "$id" && items[1].string != "$type"
    case "in": return items.count >= 3 && (items[1].string == nil || items[2].array != nil)
    case "!in", "!has", "none": return false
    case "==", "!=", ">", ">=", "<", "<=":
      return items.count != 3 || items[1].array != nil || items[2].array != nil
    case "any", "all": return items.dropFirst().allSatisfy { isExpression($0) }
    default: return true
    }
  }
}

extension JSONValue {
  /// The value of a finite number.
  package var finite: Double? {
    guard case .number(let digits) = self, let number = Double(digits), number.isFinite else { return nil }
    return number
  }
}
