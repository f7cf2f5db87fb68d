import Support
import TestSupport
import Testing
import TileIndex

/// The western and southern halves of the world begin with a dash, which must not make a flag of them.
@Suite(.ownThread) struct NegativeNumberTests {
  /// Every option of every command whose value is numbers with commas, as the commands themselves tell.
  @Test(arguments: ["tilecut", "tileserve", "purchase-ledger", "mapstore"])
  func everyOptionTakesThem(tool: String) throws {
    let dump = try Command(built: tool).run(["--experimental-dump-help"])
    let commands = try #require(try JSONValue(parsing: Array(dump.stdout.utf8))["command"])
    let options = Self.options(commands, [])
    #expect(options.isEmpty == ["tileserve", "purchase-ledger"].contains(tool), "\(options)")
    for (words, option, value) in options {
      let numbers = value.split(separator: ",").map { _ in "-1.5" }.joined(separator: ",")
      // What else a command needs is missing; that is complained of only when its options were read.
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

  /// As README.md has it.
  @Test func groundInColorado() throws {
    let folder = try TemporaryFolder()
    for ground in [["--point", "-105.68,40.34"], ["--bbox", "-105.9,40.2,-105.5,40.6"]] {
      let run = try Command(built: "mapstore").run(
        ["client", "around", "rmnp", "--folder", folder.file("maps")] + ground)
      // Only the server is missing.
      #expect(run.status == 2 && run.stderr.contains("--server"), "\(run)")
    }
  }
}
