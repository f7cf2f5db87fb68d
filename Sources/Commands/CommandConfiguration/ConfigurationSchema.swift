import Support

/// The options that a command takes from its configuration file, and from the environment by the same names.
package struct ConfigurationSchema: Sendable {
  /// The command's prefix in the environment, in camel case: `purchaseLedger` for `PURCHASE_LEDGER_...`.
  let environmentPrefix: String
  /// Where the options are described, for errors.
  let manual: String
  let options: [ConfigurationOption]
  /// Variables with the prefix that other subcommands read, without it.
  let otherVariables: [String]

  package init(
    environmentPrefix: String, manual: String, otherVariables: [String] = [], options: [ConfigurationOption]
  ) {
    (self.environmentPrefix, self.manual, self.options) = (environmentPrefix, manual, options)
    self.otherVariables = otherVariables
  }

  /// What to do about a variable of the environment; nil for those that are read, and those of other programs.
  func faultOfVariable(_ name: String) -> String? {
    let prefix = Self.variable(environmentPrefix) + "_"
    guard name.hasPrefix(prefix) else { return nil }
    let rest = String(name.dropFirst(prefix.count))
    var names = ["CONFIG"] + otherVariables
    /// Objects whose members have names of their own.
    var objects: [String] = []
    func add(_ options: [ConfigurationOption], in object: String) {
      for option in options {
        let name = object + Self.variable(option.name)
        switch option.kind {
        case .ignored: break
        case .object(let inner): add(inner, in: name + "_")
        case .objects, .settings: objects.append(name + "_")
        default: names.append(name)
        }
      }
    }
    add(options, in: "")
    guard !names.contains(rest), !objects.contains(where: rest.hasPrefix) else { return nil }
    let near = Spelling.nearest(to: rest, among: names)
    return near.map { "did you mean \(prefix)\($0)?" } ?? "unset it; \(manual)"
  }

  /// `publicUrl` is `PUBLIC_URL`.
  private static func variable(_ name: String) -> String {
    Spelling.option(name).uppercased().replacing("-", with: "_")
  }

  /// The names of the options.
  package var members: [String] { options.map(\.name) }

  /// - Parameter path: a name, or `limits.connections` for an option of an object.
  func option(_ path: String) -> ConfigurationOption? {
    var (options, found) = (options, ConfigurationOption?.none)
    for name in path.split(separator: ".") {
      found = options.first { $0.name == name }
      if case .object(let inner)? = found?.kind { options = inner } else { options = [] }
    }
    return found
  }
}

/// One option: its name and its type.
package struct ConfigurationOption: Sendable {
  /// Tests a value; throws ``ConfigurationError`` or another error whose description is the reason.
  package typealias Check = @Sendable (String) throws -> Void

  package enum Kind: Sendable {
    case text(Check)
    /// A text, or the digits of a whole number, where both are usual.
    case textOrNumber(Check, mustBe: String)
    /// A text or whole number, or a list of them; elsewhere the texts have commas between them.
    case list(Check)
    /// A path; in the file it is relative to the file's folder.
    case path
    /// Such a path, or a list of them.
    case paths
    /// As ``paths``; each may be an object with the path as `key` and the days `from` and `until` (both included).
    case datedPaths
    case number(ClosedRange<Int>)
    case flag
    /// An object with options of its own.
    case object([ConfigurationOption])
    /// An object with one member for each thing of a kind, by its id; each is an object with these options.
    case objects(of: String, [ConfigurationOption])
    /// An object whose members' names and values (texts or whole numbers) the command itself knows.
    case settings(of: String, @Sendable (_ name: String, _ value: String) throws -> Void)
    /// Ignored by the command; other programs read it.
    case ignored
  }

  let name: String
  let kind: Kind

  package init(_ name: String, _ kind: Kind) { (self.name, self.kind) = (name, kind) }

  package static func text(_ name: String, check: @escaping Check = { _ in }) -> Self { Self(name, .text(check)) }

  package static func texts(_ names: String...) -> [Self] { names.map { .text($0) } }

  /// The keys for the stores' interfaces.
  package static let stores: [Self] = [
    .init("apple", .object(texts("issuerId", "keyId", "baseUrl") + [.init("privateKey", .path)])),
    .init("google", .object([.init("serviceAccount", .path), .init("accessTokenFile", .path), .text("baseUrl")])),
  ]
}

extension [ConfigurationOption] {
  /// The option that a member of the file is, spelled as `bundleId`, or as its flag: `bundle-id`, and
  /// `root-certificate`, which is given for each, for `rootCertificates`.
  func spelled(_ name: String) -> ConfigurationOption? {
    let words = name.split(separator: "-", omittingEmptySubsequences: false)
    let joined = words.dropFirst().reduce(String(words[0])) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
    return first { $0.name == joined } ?? first { $0.name == joined + "s" }
  }
}

/// A configuration that cannot be used: what, where, and the remedy.
package struct ConfigurationError: Error, CustomStringConvertible {
  /// Whether the configuration file is wrong, or an option from a flag or the environment.
  package let isInFile: Bool
  /// The file's path, or the option's name in the file; nil for an invalid combination of options.
  private let place: String?
  private let reason: String

  /// - Parameter option: the option's name in the configuration file; the message has the flag's, as in `public-url`.
  package init(option: String, _ reason: String) { (isInFile, place, self.reason) = (false, option, reason) }

  /// - Parameter file: the path of the configuration file.
  package init(file: String, _ reason: String) { (isInFile, place, self.reason) = (true, file, reason) }

  /// An invalid combination of options.
  package init(_ message: String) { (isInFile, place, reason) = (false, nil, message) }

  /// Begins with the file's path and the member's name, or with the option's name as a flag.
  package var description: String { text(place.map { isInFile ? $0 : Spelling.option($0) }) }

  /// The same for an option that was found in the file.
  var descriptionInFile: String { text(place) }

  private func text(_ place: String?) -> String { (place.map { "\($0): " } ?? "") + reason }
}

/// A path with the time in which it counts, in milliseconds since 1970; without an end where none is given.
package struct DatedPath: Sendable {
  package let path: String
  package let from: Int64?
  /// The first moment after it.
  package let until: Int64?

  /// The beginning of a day such as `2026-05-31`; nil for other texts.
  static func day(_ text: String) -> Int64? {
    text.utf8.count == 10 ? RFC3339.milliseconds(text + "T00:00:00Z") : nil
  }
}
