import Support
import TestSupport
import Testing
import TileIndex

/// Western and southern coordinates begin with a dash and are not taken for flags.
@Suite(.ownThread) struct NegativeNumberTests {
  /// Every option of every command whose value is numbers with commas, from the commands' own description.
  @Test(arguments: ["tilecut", "tileserve", "purchase-ledger", "mapstore"])
  func everyNumericOptionTakesNegativeNumbers(tool: String) throws {
    let dump = try Command(built: tool).run(["--experimental-dump-help"])
    let commands = try #require(try JSONValue(parsing: Array(dump.stdout.utf8))["command"])
    let options = Self.options(commands, [])
    #expect(options.isEmpty == ["tileserve", "purchase-ledger"].contains(tool), "\(options)")
    for (words, option, value) in options {
      let numbers = value.split(separator: ",").map { _ in "-1.5" }.joined(separator: ",")
      // The command fails because other arguments are missing, but only after it parsed its options.
      let run = try Command(built: tool).run(words + ["--\(option)", numbers])
      #expect(!run.stderr.contains("Missing value") && !run.stderr.contains("Unknown option"), "\(run)")
    }
  }

  private static func options(_ command: JSONValue, _ words: [String]) -> [(
    words: [String], option: String, value: String
  )] {
    var found: [(words: [String], option: String, value: String)] = []
    for argument in command["arguments"]?.array ?? [] where argument["kind"]?.string == "option" {
      guard let value = argument["valueName"]?.string, value.contains(",") else { continue }
      let name = argument["names"]?.array?.first { $0["kind"]?.string == "long" }?["name"]?.string
      if let name { found.append((words, name, value)) }
    }
    for inner in command["subcommands"]?.array ?? [] {
      guard let name = inner["commandName"]?.string, name != "help" else { continue }
      found += options(inner, words + [name])
    }
    return found
  }

  /// The examples of README.md.
  @Test func packsCommandTakesWesternLongitudes() throws {
    let folder = try TemporaryFolder()
    for ground in [["--point", "-105.68,40.34"], ["--bounds", "-105.9,40.2,-105.5,40.6"]] {
      let run = try Command(built: "mapstore").run(
        ["client", "around", "rmnp", "--folder", folder.file("maps")] + ground)
      // The error is that no server is named.
      #expect(run.status == 2 && run.stderr.contains("--server"), "\(run)")
    }
  }
}
