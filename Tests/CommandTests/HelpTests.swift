import Foundation
import TestSupport
import Testing

/// Help texts are golden files. `make bless` rewrites them; read the difference before you commit it.
@Suite(.ownThread) struct HelpTests {
  @Test(arguments: [
    ["--help"], ["help", "cut"], ["help", "inspect"], ["help", "verify"], ["help", "preview"], ["help", "extract"],
    ["help", "merge"], ["help", "convert"], ["help", "metadata"], ["help", "diff"], ["help", "apply"],
    ["help", "places"], ["help", "build"], ["help", "plan"], ["help", "missing"],
    ["help", "packs"], ["help", "textures"], ["help", "doctor"],
  ])
  func helpMatchesTheGoldenFile(_ arguments: [String]) throws {
    let run = try Command(built: "tilecut").run(arguments)
    #expect(run.status == 0 && run.stderr.isEmpty, "\(run)")
    let name = "tilecut-\(arguments.last!.drop { $0 == "-" }).txt"
    let golden = ProjectFiles.path("Tests/CommandTests/Goldens/\(name)")
    if ProcessInfo.processInfo.environment["BLESS"] == "1" {
      try run.stdout.write(toFile: golden, atomically: true, encoding: .utf8)
    }
    let expected = try String(contentsOfFile: golden, encoding: .utf8)
    #expect(run.stdout == expected, "\(name) has changed; if that is wanted: make bless")
  }

  static let commands = [
    "cut", "inspect", "verify", "preview", "extract", "merge", "convert", "metadata", "diff", "apply", "places",
    "build", "packs", "textures", "doctor", "plan", "missing",
  ]

  @Test func helpBeforeAndAfterASubcommandIsThatSubcommands() throws {
    for command in Self.commands {
      #expect(try tilecut(command, "--help").stdout == tilecut("help", command).stdout)
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

  @Test func versionPrintsTheToolsVersion() throws {
    let run = try tilecut("--version")
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
}
