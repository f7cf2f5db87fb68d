import Configuration
import LibC
import Support
import TileIndex

/// A JSON file with a command's options. It is checked as a whole before any value is used, so that a typing error does
/// not silently select the default.
///
/// An unknown name, a name that occurs twice and a value that cannot be used are errors.
package struct ConfigurationFile: Sendable {
  package let path: String
  /// The options of the file; paths are resolved against the file's folder.
  let values: [AbsoluteConfigKey: ConfigValue]
  /// The members of objects whose names the schema does not fix, in the order of the file.
  let members: [String: [(name: String, value: String)]]

  /// - Parameter path: `-` for standard input.
  /// - Throws: ``ConfigurationError`` that names the file and the member, or the line of a syntax error.
  package init(_ path: String, schema: ConfigurationSchema) throws {
    let document: JSONValue
    do {
      document = try JSONValue(parsing: try Self.read(path), duplicates: .kept)
    } catch let error as JSONValue.SyntaxError {
      throw ConfigurationError(
        file: path, "line \(error.line), column \(error.column): is no JSON: \(error.message)")
    }
    guard let members = document.members else {
      throw ConfigurationError(file: path, "is no JSON object; write { in front and } behind the options")
    }
    var reader = ConfigurationFileReader(schema: schema, path: path)
    try reader.read(members, as: schema.options, at: [], place: "")
    (self.path, self.values, self.members) = (path, reader.values, reader.members)
  }

  /// Reads until the end, so that the path may be a pipe.
  private static func read(_ path: String) throws(ConfigurationError) -> [UInt8] {
    let bytesMax = 64 << 20
    let descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      let reason = FileSystem.SystemError(number: errno)
      throw ConfigurationError(file: path, "cannot be read: \(reason); check the name and permissions")
    }
    defer { close(descriptor) }
    do throws(FileSystem.SystemError) {
      return try FileSystem.bytes(from: descriptor, countMax: bytesMax)
    } catch {
      if error.number == EFBIG {
        throw ConfigurationError(file: path, "is larger than 64 MB; name a configuration file")
      }
      throw ConfigurationError(file: path, "cannot be read: \(error); check the name and permissions")
    }
  }
}

/// Walks through the document along the schema.
private struct ConfigurationFileReader {
  let schema: ConfigurationSchema
  let path: String
  private(set) var values: [AbsoluteConfigKey: ConfigValue] = [:]
  private(set) var members: [String: [(name: String, value: String)]] = [:]

  init(schema: ConfigurationSchema, path: String) { (self.schema, self.path) = (schema, path) }

  /// - Parameters:
  ///   - key: the names of the objects around these members, as keys of the configuration.
  ///   - place: the same in the form of error messages, with the separator before the member's name.
  mutating func read(
    _ found: [JSONValue.Member], as options: [ConfigurationOption], at key: [String], place: String
  ) throws {
    try refuseRepetitions(found.map(\.name), place) { options.spelled($0)?.name ?? $0 }
    for member in found {
      let place = place + member.name
      guard let option = options.spelled(member.name) else {
        throw wrong(place, unknown(member.name, among: options))
      }
      try read(member.value, as: option, at: key + [option.name], place: place)
    }
  }

  private mutating func read(_ value: JSONValue, as option: ConfigurationOption, at key: [String], place: String)
    throws
  {
    func set(_ content: ConfigContent) { values[AbsoluteConfigKey(key)] = ConfigValue(content, isSecret: false) }
    switch option.kind {
    case .text(let check):
      guard let text = value.string else { throw wrong(place, "must be a text in quotation marks") }
      try checking(place) { try check(text) }
      set(.string(text))
    case .textOrNumber(let check, let description):
      guard let text = value.textOrDigits else { throw wrong(place, "must be \(description)") }
      do { try check(text) } catch { throw wrong(place, "must be \(description)") }
      set(.string(text))
    case .list(let check):
      let texts = (value.array ?? [value]).map(\.textOrDigits)
      guard !texts.contains(where: { $0?.isEmpty != false || $0?.contains(",") == true }), !texts.isEmpty else {
        throw wrong(place, "must be a text in quotation marks, or a list of them, without commas")
      }
      for text in texts.compactMap(\.self) { do { try check(text) } catch { throw wrong(place, "\(error)") } }
      set(.string(texts.compactMap(\.self).joined(separator: ",")))
    case .path:
      guard let text = value.string else { throw wrong(place, "must be a text in quotation marks") }
      set(.string(resolved(text)))
    case .paths:
      let files = (value.array ?? [value]).map(\.string)
      guard !files.contains(nil) else { throw wrong(place, "must be a file name, or a list of them") }
      set(.stringArray(files.compactMap { $0.map(resolved) }))
    case .datedPaths:
      let items = try (value.array ?? [value]).map { try datedPath($0, place) }
      set(.stringArray(items.map(\.path)))
      for (name, days) in [("from", items.map(\.from)), ("until", items.map(\.until))] {
        values[AbsoluteConfigKey(key + [name])] = ConfigValue(.stringArray(days), isSecret: false)
      }
    case .number(let range):
      guard case .number(let text) = value, let number = Double(text).flatMap(Int.init(exactly:)),
        range.contains(number)
      else { throw wrong(place, "must be a whole number from \(range.lowerBound) to \(range.upperBound)") }
      set(.string("\(number)"))
    case .flag:
      guard case .bool(let isSet) = value else { throw wrong(place, "must be true or false") }
      set(.bool(isSet))
    case .object(let options):
      guard let inner = value.members else { throw wrong(place, "must be an object") }
      try read(inner, as: options, at: key, place: "\(place).")
    case .objects(let kind, let options):
      guard let inner = value.members else { throw wrong(place, "must be an object with one member a \(kind)") }
      try refuseRepetitions(inner.map(\.name), "\(place): ")
      members[option.name] = inner.map { ($0.name, "") }
      for member in inner {
        let place = "\(place): \(member.name)"
        guard let own = member.value.members else {
          throw wrong(place, "must be an object of texts: \(options.map(\.name).joined(separator: ", "))")
        }
        try read(own, as: options, at: key + [member.name], place: "\(place): ")
      }
    case .settings(let kind, let check):
      guard let inner = value.members else { throw wrong(place, "must be an object of \(kind)") }
      try refuseRepetitions(inner.map(\.name), "\(place).")
      for member in inner {
        guard let text = member.value.textOrDigits else {
          throw wrong("\(place).\(member.name)", "must be a text or a number")
        }
        do { try check(member.name, text) } catch { throw wrong("\(place).\(member.name)", "\(error)") }
        members[option.name, default: []].append((member.name, text))
      }
    case .ignored: break
    }
  }

  /// Days that are not given are empty.
  private func datedPath(_ value: JSONValue, _ place: String) throws -> (path: String, from: String, until: String) {
    if let text = value.string { return (resolved(text), "", "") }
    guard let members = value.members, let file = value["key"]?.string else {
      throw wrong(place, "must be a file name, an object with key, from and until, or a list of them")
    }
    try refuseRepetitions(members.map(\.name), "\(place): ")
    func day(_ name: String) throws -> String {
      guard let value = value[name] else { return "" }
      guard let text = value.string, DatedPath.day(text) != nil else {
        throw wrong("\(place): \(name)", "must be a day such as \"2026-05-31\"")
      }
      return text
    }
    if let other = members.first(where: { !["key", "from", "until"].contains($0.name) }) {
      throw wrong("\(place): \(other.name)", "is not known; there are from, key, until")
    }
    let days = (from: try day("from"), until: try day("until"))
    if !days.from.isEmpty, !days.until.isEmpty, days.from > days.until {
      throw wrong(place, "ends on \(days.until), before \(days.from)")
    }
    return (resolved(file), days.from, days.until)
  }

  // MARK: Errors

  private func wrong(_ place: String, _ reason: String) -> ConfigurationError {
    ConfigurationError(file: path, "\(place): \(reason)")
  }

  private func unknown(_ name: String, among options: [ConfigurationOption]) -> String {
    let names = options.map(\.name)
    if let near = Spelling.nearest(to: name, among: names) { return "is not known; did you mean \"\(near)\"?" }
    return "is not known; " + (names.count <= 5 ? "there are \(names.sorted().joined(separator: ", "))" : schema.manual)
  }

  private func refuseRepetitions(_ names: [String], _ place: String, as canonical: (String) -> String = { $0 }) throws {
    var seen: Set<String> = []
    for name in names where !seen.insert(canonical(name)).inserted {
      throw wrong(place + name, "is given twice, perhaps in two spellings; leave one of them")
    }
  }

  /// Prefixes a check's own errors with the names of the file and the member.
  private func checking(_ place: String, _ check: () throws -> Void) throws {
    do {
      try check()
    } catch let error as ConfigurationError {
      throw ConfigurationError(file: path, Self.object(of: place) + error.descriptionInFile)
    } catch {
      throw wrong(place, "\(error)")
    }
  }

  /// `tilesets: relief: ` of `tilesets: relief: missing`: what an error that begins with the option's name lacks.
  private static func object(of place: String) -> String {
    place.ranges(of: ": ").last.map { String(place[..<$0.upperBound]) } ?? ""
  }

  private func resolved(_ file: String) -> String {
    file.hasPrefix("/") ? file : "\(FileSystem.split(FileSystem.absolutePath(path)).folder)/\(file)"
  }
}

extension JSONValue {
  /// A text, or the digits of a whole number.
  fileprivate var textOrDigits: String? {
    switch self {
    case .string(let text): text
    case .number(let digits) where Int64(digits) != nil: digits
    default: nil
    }
  }
}
