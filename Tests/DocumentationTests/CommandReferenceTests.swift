import Foundation
import TestSupport
import Testing

/// docs/reference/commands.md is made of the commands' own definitions; `BLESS=1` writes it.
@Suite(.ownThread) struct CommandReferenceTests {
  private static let document = "docs/reference/commands.md"

  private struct Help: Decodable { let command: Command }

  private struct Command: Decodable {
    let commandName: String
    let abstract, discussion: String?
    let arguments: [Argument]?
    let subcommands: [Self]?
  }

  private struct Argument: Decodable {
    struct Name: Decodable {
      let kind, name: String
    }
    let kind: String
    let shouldDisplay, isOptional, isRepeating: Bool
    let names: [Name]?
    let valueName, abstract, defaultValue, sectionTitle: String?
  }

  @Test func referenceOfCommandsIsThatOfTheirDefinitions() throws {
    var text = """
      # Commands and their options

      Made of the commands' own definitions; a test compares it with them. Each option is described with its value, and
      [exit-codes.md](exit-codes.md) has the exit codes.

      """
    for (name, words) in [
      ("tilecut", []), ("tileserve", []), ("tileserve", ["replay"]), ("purchase-ledger", []), ("mapstore", []),
    ] {
      let run = try TestSupport.Command(built: name).run(words + ["--experimental-dump-help"])
      text += Self.section(try JSONDecoder().decode(Help.self, from: Data(run.stdout.utf8)).command, below: "")
    }
    let path = ProjectFiles.path(Self.document)
    if ProcessInfo.processInfo.environment["BLESS"] == "1" {
      try text.write(toFile: path, atomically: true, encoding: .utf8)
    }
    let written = try String(contentsOfFile: path, encoding: .utf8)
    #expect(written == text, "make bless writes it again")
  }

  /// A heading, the command line, and a table; then those of the subcommands.
  private static func section(_ command: Command, below path: String) -> String {
    let path = path.isEmpty ? command.commandName : "\(path) \(command.commandName)"
    let arguments = (command.arguments ?? []).filter { $0.shouldDisplay && !isCommon($0) }
    let subcommands = (command.subcommands ?? []).filter { $0.commandName != "help" }
    var text = "\n## \(path)\n\n\(command.abstract ?? "")\n"
    if let discussion = command.discussion, !discussion.isEmpty { text += "\n\(wrapped(discussion))\n" }
    var titles: [String?] = []
    for argument in arguments where !titles.contains(argument.sectionTitle) { titles.append(argument.sectionTitle) }
    for title in titles.sorted(by: { $0 == nil && $1 != nil }) {
      text += title.map { "\n\($0):\n" } ?? ""
      text += "\n| | |\n|---|---|\n"
      for argument in arguments where argument.sectionTitle == title {
        let isSaid = argument.abstract?.contains("(default") == true
        let missing = isSaid ? nil : argument.defaultValue.map { " (default: \($0))" }
        let cells = ["`\(spelling(argument))`", "\(argument.abstract ?? "")\(missing ?? "")"]
        let row = cells.map { $0.replacing("|", with: "\\|").replacing("\n", with: " ") }.joined(separator: " | ")
        text += "| \(row) |\n"
      }
    }
    return text + subcommands.map { section($0, below: path) }.joined()
  }

  private static func isCommon(_ argument: Argument) -> Bool {
    (argument.names ?? []).contains { ["help", "version"].contains($0.name) } && argument.kind == "flag"
  }

  private static func spelling(_ argument: Argument) -> String {
    let value = "<\(argument.valueName ?? "value")>\(argument.isRepeating ? " ..." : "")"
    guard argument.kind != "positional" else { return value }
    let names = (argument.names ?? []).sorted { $0.kind > $1.kind }.map { ($0.kind == "short" ? "-" : "--") + $0.name }
    return names.joined(separator: ", ") + (argument.kind == "option" ? " \(value)" : "")
  }

  /// Paragraphs in lines of at most 120 columns. Indented lines are commands.
  private static func wrapped(_ text: String) -> String {
    text.components(separatedBy: "\n").map { paragraph in
      guard !paragraph.hasPrefix("  ") else { return "- `\(paragraph.drop { $0 == " " })`" }
      var lines = [""]
      for word in paragraph.split(separator: " ") {
        if lines[lines.count - 1].isEmpty {
          lines[lines.count - 1] = String(word)
        } else if lines[lines.count - 1].count + 1 + word.count > 120 {
          lines.append(String(word))
        } else {
          lines[lines.count - 1] += " \(word)"
        }
      }
      return lines.joined(separator: "\n")
    }.joined(separator: "\n")
  }
}
