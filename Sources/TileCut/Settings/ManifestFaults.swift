import RegionCatalog
import Support
import TileIndex

/// Collects the errors of a document, so that reading continues after each.
final class ManifestFaults {
  let path: String
  private(set) var faults: [ManifestError.Fault] = []

  /// Finds the CRSs of grids; nil where there is no PROJ.
  let crsLookup: CRSLookup?

  init(path: String, crsLookup: CRSLookup? = nil) { (self.path, self.crsLookup) = (path, crsLookup) }

  func add(_ place: String, _ message: String, remedy: String, path: String? = nil) {
    faults.append(
      ManifestError.Fault(path: path ?? self.path, place: place, message: message, remedy: remedy))
  }

  /// RFC 8259 permits repeated names in an object, but not which one counts.
  func addRepeated(_ place: String) { add(place, "stands there twice", remedy: "leave one of them out") }
}

/// An object of the document, or an option of a command in its place. Its members are read one by one; an invalid
/// member adds to ``ManifestFaults`` and reads as nil.
struct ManifestObject {
  let place: String
  private let members: [String: JSONValue]
  let faults: ManifestFaults
  private(set) var isOption = false

  /// The value of an option as the only member.
  ///
  /// - Parameter text: the value as it was typed.
  init(_ setting: CutSetting, _ text: String, _ value: JSONValue, _ faults: ManifestFaults) {
    place = "\(setting.option) \(text)"
    members = [setting.name: value]
    self.faults = faults
    isOption = true
  }

  /// - Parameter keys: the valid members; others are errors.
  init?(_ value: JSONValue?, at place: String, keys: [String], _ faults: ManifestFaults) {
    self.place = place
    self.faults = faults
    guard let value else { return nil }
    guard let list = value.members else {
      faults.add(place, "is \(value.kind), not an object", remedy: "write it in braces: {\"\(keys[0])\": ...}")
      return nil
    }
    var members: [String: JSONValue] = [:]
    for member in list {
      let name = place.isEmpty ? member.name : "\(place).\(member.name)"
      if members.updateValue(member.value, forKey: member.name) != nil {
        faults.addRepeated(name)
      } else if !keys.contains(member.name) {
        let near = Spelling.nearest(to: member.name, among: keys)
        faults.add(
          name, "is no key that is known here",
          remedy: near.map { "did you mean \"\($0)\"?" } ?? "the keys are \(keys.joined(separator: ", "))")
      }
    }
    self.members = members
  }

  func has(_ key: String) -> Bool { members[key] != nil }
  func value(_ key: String) -> JSONValue? { members[key] }
  func place(_ key: String) -> String { isOption ? place : place.isEmpty ? key : "\(place).\(key)" }
  /// What to write in a manifest, or to give as an option.
  func remedy(_ manifest: String, option: String) -> String { isOption ? option : manifest }
  /// What a value is, which an option shows itself.
  private func was(_ value: JSONValue) -> String { isOption ? "not" : "\(value.kind(withText: true)), not" }

  func fault(_ key: String, _ message: String, remedy: String) { faults.add(place(key), message, remedy: remedy) }

  /// A non-empty string without NUL characters.
  func text(_ key: String, required: Bool = false, remedy: String = "write a text in quotation marks") -> String? {
    guard let value = members[key] else {
      if required { fault(key, "is missing", remedy: remedy) }
      return nil
    }
    guard let text = value.string else {
      fault(key, "is \(value.kind), not a string", remedy: remedy)
      return nil
    }
    guard !text.isEmpty else {
      fault(key, "is empty", remedy: remedy)
      return nil
    }
    guard !text.utf8.contains(0) else {
      fault(key, "holds a NUL character", remedy: "remove it")
      return nil
    }
    return text
  }

  /// A text for customers. Control characters are refused, because devices refuse a catalogue that has them.
  ///
  /// - Parameter keepingLines: whether line breaks are valid.
  func shownText(
    _ key: String, keepingLines: Bool = false, required: Bool = false,
    remedy: String = "write a text in quotation marks"
  ) -> String? {
    guard let text = text(key, required: required, remedy: remedy) else { return nil }
    guard text.isPrintable(keepingLines: keepingLines) else {
      fault(
        key, "holds \(keepingLines ? "" : "a line break or ")a character that controls a terminal", remedy: "remove it")
      return nil
    }
    return text
  }

  /// An integer within limits.
  func whole(_ key: String, in limits: ClosedRange<Int>) -> Int? {
    guard let value = members[key] else { return nil }
    guard case .number(let digits) = value, let number = Int(digits), limits.contains(number) else {
      fault(
        key, "is \(was(value)) a whole number from \(limits.lowerBound) to \(limits.upperBound)",
        remedy: remedy("write such a number", option: "give such a number"))
      return nil
    }
    return number
  }

  /// One of two integers.
  func whole(_ key: String, among first: Int, _ second: Int) -> Int? {
    guard let value = members[key] else { return nil }
    if case .number(let digits) = value, let number = Int(digits), number == first || number == second { return number }
    fault(key, "is neither \(first) nor \(second)", remedy: remedy("write one of them", option: "give one of them"))
    return nil
  }

  /// An array of finite numbers; nil if one is not.
  func numbers(_ key: String, count: Int? = nil, remedy: String) -> [Double]? {
    guard let value = members[key] else { return nil }
    let items = value.array ?? (isOption ? [value] : nil)
    let numbers = items?.compactMap(\.finite)
    guard let numbers, numbers.count == items?.count, count.map({ $0 == numbers.count }) ?? !numbers.isEmpty
    else {
      let wanted = (count.map { "\($0) " } ?? "") + "numbers"
      fault(key, isOption ? "is not \(wanted) with commas between" : "is not an array of \(wanted)", remedy: remedy)
      return nil
    }
    return numbers
  }

  /// A finite number.
  func number(_ key: String, remedy: String) -> Double? {
    guard let value = members[key] else { return nil }
    guard let number = value.finite else {
      fault(key, "is \(value.kind), not a number", remedy: remedy)
      return nil
    }
    return number
  }

  /// A number within limits.
  func number(_ key: String, in limits: ClosedRange<Double>) -> Double? {
    let remedy =
      "write a number from \(JSONValue.number(limits.lowerBound).text) to \(JSONValue.number(limits.upperBound).text)"
    guard let number = number(key, remedy: remedy) else { return nil }
    guard limits.contains(number) else {
      fault(key, "is out of range", remedy: remedy)
      return nil
    }
    return number
  }

  /// True or false.
  func flag(_ key: String) -> Bool? {
    guard let value = members[key] else { return nil }
    if case .bool(let flag) = value { return flag }
    fault(key, "is \(value.kind), not true or false", remedy: "write true or false, without quotation marks")
    return nil
  }

  /// One of some words: those of all cases.
  func word<Word: RawRepresentable<String>>(_ key: String, among words: [Word]) -> Word? {
    let names = words.map(\.rawValue)
    guard let text = text(key, remedy: "write \(names.joined(separator: ", "))") else { return nil }
    if let word = words.first(where: { $0.rawValue == text }) { return word }
    fault(
      key, "is not one of \(names.joined(separator: ", "))\(isOption ? "" : ": \"\(text)\"")",
      remedy: Spelling.nearest(to: text, among: names).map { "did you mean \"\($0)\"?" } ?? "choose one of them")
    return nil
  }

  /// - Parameter synonyms: of an option.
  func word<Word: RawRepresentable<String> & CaseIterable>(_ key: String, synonyms: [String: Word] = [:]) -> Word? {
    if isOption, let word = members[key]?.string.flatMap({ synonyms[$0] }) { return word }
    return word(key, among: Array(Word.allCases))
  }

  /// `[west, south, east, north]` in degrees; longitudes beyond ±180 are those a turn away. The box lies within ±180,
  /// with a west greater than the east where it crosses the antimeridian.
  func box(_ key: String) -> BoundingBox? {
    let remedy = "give it as [west, south, east, north] in degrees"
    guard let numbers = numbers(key, count: 4, remedy: remedy) else { return nil }
    let box = BoundingBox(west: numbers[0], south: numbers[1], east: numbers[2], north: numbers[3])
    guard box.south < box.north, box.west != box.east, abs(box.south) <= 90, abs(box.north) <= 90,
      abs(box.west) <= 540, abs(box.east) <= 540
    else {
      fault(key, "is no box on Earth", remedy: remedy)
      return nil
    }
    let parts = TileMatrixSet.splitAtAntimeridian(box)
    return BoundingBox(west: parts[0].west, south: box.south, east: parts[parts.count - 1].east, north: box.north)
  }

  /// Names: an array of strings; none where the member is missing.
  ///
  /// - Parameter isName: whether a string that is not empty is a valid name.
  func names(_ key: String, remedy: String, where isName: (String) -> Bool = { _ in true }) -> [String] {
    guard let value = members[key] else { return [] }
    guard let items = value.array else {
      fault(key, "is \(value.kind), not an array", remedy: "write the names in brackets: [\"a\", \"b\"]")
      return []
    }
    return items.enumerated().compactMap { index, item in
      if let name = item.string, !name.isEmpty, !name.utf8.contains(0), isName(name) { return name }
      faults.add("\(place(key))[\(index)]", "is not a usable name: \(item.text)", remedy: remedy)
      return nil
    }
  }

  /// File names: an array of non-empty strings.
  func files(_ key: String) -> [String]? {
    guard let value = members[key] else { return nil }
    guard let items = value.array else {
      fault(key, "is \(value.kind), not an array", remedy: "write the files' names in brackets: [\"map.tif\"]")
      return nil
    }
    guard !items.isEmpty else {
      fault(key, "is empty", remedy: "name at least one file, or leave it out")
      return nil
    }
    var names: [String] = []
    for (index, item) in items.enumerated() {
      if let name = item.string, !name.isEmpty, !name.utf8.contains(0) {
        names.append(name)
      } else {
        faults.add("\(place(key))[\(index)]", "is no file's name", remedy: "write the path in quotation marks")
      }
    }
    return names
  }
}
