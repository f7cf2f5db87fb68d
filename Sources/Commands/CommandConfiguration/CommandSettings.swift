import CommandSupport
import Configuration
import Support
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The values of a command's options. Flags take precedence over the environment, and the environment over the
/// configuration file.
package struct CommandSettings: Sendable {
  /// The configuration file; nil where there is none.
  package let file: ConfigurationFile?
  private let schema: ConfigurationSchema
  private let reader: ConfigReader

  /// - Parameters:
  ///   - flags: those that were given.
  ///   - config: the flag that names the configuration file; without it the environment may name one.
  /// - Throws: ``ConfigurationError`` when the file cannot be used.
  package init(_ schema: ConfigurationSchema, flags: FlagValues, config: String?) throws {
    let environment = EnvironmentVariablesProvider().prefixKeys(with: ConfigKey([schema.environmentPrefix]))
    let path = config ?? ConfigReader(provider: environment).string(forKey: "config")
    file = try path.flatMap { $0.isEmpty ? nil : try ConfigurationFile($0, schema: schema) }
    self.schema = schema
    Self.warnOnce(schema)
    reader = ConfigReader(providers: [
      InMemoryProvider(values: flags.values), environment, InMemoryProvider(values: file?.values ?? [:]),
    ])
  }

  /// Names the variables of the command that no option has: what is misspelled has no effect.
  private static func warnOnce(_ schema: ConfigurationSchema) {
    guard !hasWarned.exchange(true, ordering: .relaxed) else { return }
    for name in ProcessInfo.processInfo.environment.keys.sorted() {
      guard let remedy = schema.faultOfVariable(name) else { continue }
      printError(
        "\(Spelling.option(schema.environmentPrefix)): warning: \(name): unknown environment variable; \(remedy)")
    }
  }

  private static let hasWarned = Atomic(false)

  /// - Parameter name: the option's name in the file; `apple.keyId` for an option of an object.
  package func text(_ name: String) -> String? { reader.string(forKey: Self.key(name)) }

  /// An option of one member of an object of objects, as `missing` of a tileset.
  package func text(_ name: String, of member: String, in object: String) -> String? {
    reader.string(forKey: ConfigKey([object, member, name]))
  }

  /// The texts between commas.
  package func list(_ name: String) -> [String] { Self.list(text(name)) }

  package static func list(_ text: String?) -> [String] {
    (text ?? "").split(separator: ",").map { String($0.trimmingWhitespace) }.filter { !$0.isEmpty }
  }

  /// The addresses between commas.
  ///
  /// - Throws: ``ConfigurationError`` for a name: what belongs to it may change, and would not be compared.
  package func addresses(_ name: String) throws -> [String] {
    let addresses = list(name)
    if let wrong = addresses.first(where: { !ClientAddress.isAddress($0) }) {
      throw ConfigurationError(
        option: name, "\"\(wrong)\" is no address; give addresses of IPv4 or IPv6, with commas between them")
    }
    return addresses
  }

  package func paths(_ name: String) -> [String] { reader.stringArray(forKey: Self.key(name)) ?? [] }

  /// Paths with the time in which each counts.
  package func datedPaths(_ name: String) -> [DatedPath] {
    let (from, until) = (paths("\(name).from"), paths("\(name).until"))
    return paths(name).enumerated().map { index, path in
      let end = index < until.count ? DatedPath.day(until[index]) : nil
      return DatedPath(
        path: path, from: index < from.count ? DatedPath.day(from[index]) : nil, until: end.map { $0 + 86_400_000 })
    }
  }

  /// - Throws: ``ConfigurationError`` for a value that is not a number in the option's range; it is not replaced by
  ///   the default.
  package func number(_ name: String) throws -> Int? {
    guard case .number(let range)? = schema.option(name)?.kind, let text = text(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw ConfigurationError(
        option: name, "\"\(text)\" is no number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// - Throws: ``ConfigurationError`` for a value that is neither true nor false.
  package func flag(_ name: String) throws -> Bool? {
    if let isSet = reader.bool(forKey: Self.key(name)) { return isSet }
    if let text = text(name) {
      throw ConfigurationError(option: name, "\"\(text)\" is neither true nor false; give true or false")
    }
    return nil
  }

  /// The value of an option that is one of a few words.
  ///
  /// - Throws: ``ConfigurationError`` that lists them.
  package static func choice<Value: RawRepresentable<String> & CaseIterable>(
    _ text: String, option: String
  ) throws -> Value {
    guard let value = Value(rawValue: text) else {
      throw ConfigurationError(
        option: option, "\"\(text)\" is none of \(Value.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return value
  }

  /// A base URL, without the slash at its end.
  ///
  /// - Parameter example: such as `https://maps.example.org`, for the message.
  /// - Throws: ``ConfigurationError`` also for what only some programs refuse, such as a port beyond 65535: clients get
  ///   this URL in links.
  package static func baseURL(_ text: String, option: String, example: String) throws -> String {
    do {
      guard try !HTTPAddress(text).path.contains("?") else {
        throw HTTPAddress.InvalidURL(description: "must not have a query")
      }
    } catch {
      throw ConfigurationError(option: option, "\"\(text)\" \(error); give a URL such as \(example)")
    }
    return text.hasSuffix("/") ? String(text.dropLast()) : text
  }

  /// Refuses folders between commas that are not there.
  ///
  /// - Throws: ``ConfigurationError`` for the first of them.
  package func checkFolders(_ name: String) throws {
    for folder in list(name) where FileSystem.kind(folder) != .folder {
      throw ConfigurationError(option: name, "there is no folder \(folder); check the name")
    }
  }

  /// The file's members of an object whose names the schema does not fix, in the order of the file.
  package func members(of object: String) -> [(name: String, value: String)] { file?.members[object] ?? [] }

  private static func key(_ name: String) -> ConfigKey { ConfigKey(name.split(separator: ".").map(String.init)) }
}

/// The flags that were given, by the names that the options have in the configuration file.
package struct FlagValues: Sendable {
  fileprivate(set) var values: [AbsoluteConfigKey: ConfigValue] = [:]

  /// - Parameters:
  ///   - texts: nil where the flag was not given.
  ///   - switches: false where the flag was not given.
  ///   - lists: empty where the flag was not given.
  package init(
    _ texts: KeyValuePairs<String, String?> = [:], switches: KeyValuePairs<String, Bool> = [:],
    lists: KeyValuePairs<String, [String]> = [:]
  ) {
    for case (let name, let text?) in texts { set(name, .string(text)) }
    for (name, isSet) in switches where isSet { set(name, .bool(true)) }
    for (name, list) in lists where !list.isEmpty { set(name, .stringArray(list)) }
  }

  package func adding(_ others: FlagValues) -> FlagValues {
    var both = self
    both.values.merge(others.values) { _, other in other }
    return both
  }

  private mutating func set(_ name: String, _ content: ConfigContent) {
    values[AbsoluteConfigKey([name])] = ConfigValue(content, isSecret: false)
  }
}
