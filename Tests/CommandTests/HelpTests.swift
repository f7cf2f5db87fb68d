import Foundation
import TestSupport
import Testing

/// Help texts are golden files. `make bless` rewrites them; read the difference before you commit it.
@Suite(.ownThread) struct HelpTests {
  private static let commands = [
    "cut", "inspect", "verify", "preview", "extract", "merge", "convert", "metadata", "diff", "apply", "places",
    "build", "packs", "textures", "doctor", "plan", "missing",
  ]
  private static let ledgerCommands = [
    "inspect", "init", "account", "account add", "account list", "account erase", "import", "pull", "reconcile",
    "entitlements", "history", "verify", "export", "backup", "rebuild", "demo", "dismiss", "policy", "status", "merge",
    "queue",
  ]
  private static let clientCommands = [
    "register", "login", "logout", "library", "list", "buy", "get", "around", "pause", "remove", "sync", "check",
    "store-key", "refund",
  ]
  /// Subcommands by their command; an empty one is the command itself.
  static let helps: [(command: String, subcommand: String)] =
    ([""] + commands).map { ("tilecut", $0) } + ([""] + ledgerCommands).map { ("purchase-ledger", $0) }
    + (["serve", "quickstart", "client"] + clientCommands.map { "client \($0)" }).map { ("mapstore", $0) }
    + ["", "replay"].map { ("tileserve", $0) }

  @Test(arguments: helps) func helpMatchesTheGoldenFile(command: String, subcommand: String) throws {
    let words = subcommand.split(separator: " ").map(String.init)
    let run = try Command(built: command).run(words + ["--help"])
    #expect(run.status == 0 && run.stderr.isEmpty, "\(run)")
    let name = "\(command)-\((words.isEmpty ? ["help"] : words).joined(separator: "-")).txt"
    let golden = ProjectFiles.path("Tests/CommandTests/Goldens/\(name)")
    if ProcessInfo.processInfo.environment["BLESS"] == "1" {
      try run.stdout.write(toFile: golden, atomically: true, encoding: .utf8)
    }
    let expected = try String(contentsOfFile: golden, encoding: .utf8)
    #expect(run.stdout == expected, "\(name) has changed; if that is wanted: make bless")
    // `tileserve` has no subcommand `help`.
    if !words.isEmpty, command != "tileserve" {
      #expect(try Command(built: command).run(["help"] + words).stdout == run.stdout)
    }
  }

  /// The help lists no option twice.
  @Test func noOptionIsListedTwice() throws {
    for command in Self.commands {
      let options = try tilecut("help", command).stdoutLines.filter { $0.hasPrefix("  -") }.compactMap {
        $0.split(separator: " ").first { $0.hasPrefix("--") }
      }
      #expect(Set(options).count == options.count, "\(command): \(options)")
    }
  }

  @Test(arguments: ["tilecut", "tileserve"]) func versionPrintsTheToolsVersion(command: String) throws {
    let run = try Command(built: command).run(["--version"])
    #expect(run.status == 0 && run.stderr.isEmpty, "\(run)")
    #expect(run.stdout.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil, "\(run)")
  }

  @Test(arguments: [["--version", "7"], ["--version=7"]]) func versionOfCutIsTheTilesets(_ option: [String]) throws {
    let folder = try TemporaryFolder()
    let output = folder.file("out.mbtiles")
    let run = try Command(built: "tilecut").run(
      ["cut", try folder.writePlacedPicture(), "-o", output, "--zoom", "0"] + option)
    #expect(run.status == 0, "\(run)")
    #expect(try SQLiteFile.metadata(output)["version"] == "7")
    try expectValid(output)
    // Nor is it where a required option is missing.
    let missing = try Command(built: "tilecut").run(["cut", "-o", output] + option)
    expectRefusal(missing, status: 64, naming: "<source>")
  }

  /// MBTiles requires a number.
  @Test(arguments: ["2026-11-a", "nan"]) func versionsThatAreNoNumbersGiveAWarning(_ version: String) throws {
    let folder = try TemporaryFolder()
    let output = folder.file("out.mbtiles")
    let run = try tilecut("cut", try folder.writePlacedPicture(), "-o", output, "--zoom", "0", "--version", version)
    #expect(run.status == 0 && run.stderr.contains("tilecut: warning: --version \(version) is not a number"), "\(run)")
    #expect(try SQLiteFile.metadata(output)["version"] == version)
  }

  @Test func readmeAndHelpListTheSameExitCodes() throws {
    let help = try tilecut("--help").stdout.split(whereSeparator: \.isNewline).joined(separator: " ")
    for status in documentedStatuses { #expect(help.contains(" \(status)"), "\(status)") }
    #expect(documentedStatuses.isSuperset(of: [0, 1, 64, 65, 66, 70, 73, 74, 75, 130, 143]))
  }

  @Test func readmeAndHelpListTheSameExitCodesOfTheLedger() throws {
    let help = try purchaseLedger("--help").stdout.split(whereSeparator: \.isNewline).joined(separator: " ")
    let statuses = exitCodesInDocuments(of: "purchase-ledger")
    for status in statuses { #expect(help.contains(" \(status)"), "\(status)") }
    #expect(statuses == [0, 1, 2, 3, 4, 64, 70, 129, 130, 143])
  }

  @Test func readmeAndHelpListTheSameExitCodesOfTheServer() throws {
    let help = try tileserve("--help").stdout.split(whereSeparator: \.isNewline).joined(separator: " ")
    let documented = exitCodesInDocuments(of: "tileserve")
    #expect(documented.isSuperset(of: [0, 64, 66, 69, 70, 78, 130, 143]))
    for status in documented where status < 128 { #expect(help.contains(" \(status) "), "\(status)") }
  }
}
