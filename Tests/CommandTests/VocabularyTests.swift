import Foundation
import TestSupport
import Testing

/// One name for one thing: what the options of all commands are called, from the commands' own definitions.
@Suite(.ownThread) struct VocabularyTests {
  struct Option {
    let command: String
    /// With dashes; of a positional argument what its value is called.
    let name: String
    let short: String?
    let kind: String
    let valueName: String?
    let help: String
    /// Whether shells complete its value.
    let isCompleted: Bool
    /// Whether its help lists all values.
    let hasFixedValues: Bool
  }

  /// The options and positional arguments of a command and of its subcommands.
  private static func arguments(_ command: [String: Any], below path: String) -> [Option] {
    let path = "\(path) \(command["commandName"] as? String ?? "?")"
    var options: [Option] = []
    for argument in command["arguments"] as? [[String: Any]] ?? [] {
      let names = argument["names"] as? [[String: String]] ?? []
      let long = names.first { $0["kind"] == "long" }?["name"].map { "--\($0)" }
      guard let name = long ?? argument["valueName"] as? String else { continue }
      options.append(
        Option(
          command: String(path.dropFirst()), name: name,
          short: names.first { $0["kind"] == "short" }?["name"], kind: argument["kind"] as? String ?? "",
          valueName: argument["valueName"] as? String, help: argument["abstract"] as? String ?? "",
          isCompleted: argument["completionKind"] != nil, hasFixedValues: argument["allValues"] != nil))
    }
    for subcommand in command["subcommands"] as? [[String: Any]] ?? []
    where subcommand["commandName"] as? String != "help" {
      options += Self.arguments(subcommand, below: path)
    }
    return options
  }

  private static func everyOption() throws -> [Option] {
    try everyArgument().filter { $0.kind != "positional" }
  }

  private static func everyArgument() throws -> [Option] { try found.get() }

  /// Each command takes a second to say it.
  private static let found = Result { try find() }

  private static func find() throws -> [Option] {
    var options: [Option] = []
    for (command, arguments) in [
      ("tilecut", []), ("tileserve", []), ("tileserve", ["replay"]), ("purchase-ledger", []), ("mapstore", []),
    ] {
      let run = try Command(built: command).run(arguments + ["--experimental-dump-help"])
      let document = try JSONSerialization.jsonObject(with: Data(run.stdout.utf8)) as? [String: Any]
      options += Self.arguments(try #require(document?["command"] as? [String: Any]), below: "")
    }
    try #require(options.count > 200)
    return options
  }

  /// Names that other tools have, or that we had, with ours.
  private static let otherNames = [
    "--zooms": "--zoom", "--min-zoom": "--zoom", "--max-zoom": "--zoom", "--bbox": "--bounds", "--extent": "--bounds",
    "--grid": "--matrix", "--overwrite": "--force", "--out": "--output", "--jobs-max": "--jobs", "--only": "--region",
    "--srs": "--crs", "--kind": "--as", "--max-bytes": "--pack-bytes",
  ]

  @Test func noOptionHasAnotherNameForTheSameThing() throws {
    for option in try Self.everyOption() {
      #expect(
        Self.otherNames[option.name] == nil, "\(option.command) \(option.name): \(Self.otherNames[option.name] ?? "")")
    }
  }

  /// What takes a value takes the same kind of value everywhere; exceptions are named here, and not more than needed.
  @Test func anOptionTakesTheSameValueInEveryCommand() throws {
    let exceptions: Set<String> = [
      // Zooms are ranges where several can be meant; the policies and versions of different things; an output is a
      // file, a folder or either.
      "--zoom", "--policy", "--version", "--output", "--report",
    ]
    let options = try Self.everyOption().filter { !exceptions.contains($0.name) }
    for (name, group) in Dictionary(grouping: options, by: \.name) {
      let forms = Set(group.map { "\($0.kind) \($0.valueName ?? "") \($0.short ?? "")" })
      #expect(forms.count == 1, "\(name): \(group.map { "\($0.command): \($0.kind) <\($0.valueName ?? "")>" })")
    }
  }

  /// A flag of this name prints nothing but JSON on standard output, and its help says so in the same words.
  @Test(arguments: [("--json", "Print JSON"), ("--force", "Replace the output")])
  func flagsHaveOneMeaning(_ name: String, _ start: String) throws {
    let options = try Self.everyOption().filter { $0.name == name }
    #expect(options.count > 10)
    for option in options {
      #expect(option.kind == "flag" && option.help.hasPrefix(start), "\(option.command): \(option.help)")
    }
  }

  /// Where an argument takes a file, shells offer files. Without a word of ours they offer nothing.
  @Test func filesAreCompleted() throws {
    let files: Set<String> = [
      "file", "folder", "folders", "bundle", "output", "source", "manifest", "catalogue", "plan", "patch", "old", "new",
      "trace", "[source=]file", "name|file.json",
    ]
    let arguments = try Self.everyArgument().filter { argument in
      argument.valueName.map { files.contains($0) || $0 == "path" && argument.kind == "positional" } ?? false
    }
    #expect(arguments.count > 80)
    for argument in arguments { #expect(argument.isCompleted, "\(argument.command) \(argument.name)") }
  }

  /// So do options with few values, also where their type is text or a number.
  @Test func fixedValuesAreCompleted() throws {
    let names: Set<String> = [
      "--as", "--cors", "--environment", "--format", "--scale-factor", "--tile-size",
    ]
    let options = try Self.everyOption().filter { $0.hasFixedValues || names.contains($0.name) }
    #expect(options.count > 50 && names.isSubset(of: options.map(\.name)))
    for option in options { #expect(option.isCompleted, "\(option.command) \(option.name)") }
  }

  @Test func everyOptionIsExplainedInASentence() throws {
    for option in try Self.everyOption() where option.name != "--help" && option.name != "--version" {
      #expect(!option.help.isEmpty, "\(option.command) \(option.name) has no help")
    }
  }
}
