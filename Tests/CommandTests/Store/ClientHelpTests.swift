import Foundation
import TestSupport
import Testing

/// The help texts of `mapstore client`; `make bless` rewrites the golden files.
@Suite(.ownThread) struct ClientHelpTests {
  static let commands = [
    "register", "login", "logout", "library", "list", "buy", "get", "around", "pause", "remove", "sync", "check",
    "store-key", "refund",
  ]

  @Test(arguments: [["help", "client"]] + commands.map { ["help", "client", $0] })
  func helpMatchesTheGoldenFile(_ arguments: [String]) throws {
    let run = try Command(built: "mapstore").run(arguments)
    #expect(run.status == 0 && run.stderr.isEmpty, "\(run)")
    let name = "mapstore-\(arguments.dropFirst().joined(separator: "-")).txt"
    let golden = ProjectFiles.path("Tests/CommandTests/Goldens/\(name)")
    if ProcessInfo.processInfo.environment["BLESS"] == "1" {
      try run.stdout.write(toFile: golden, atomically: true, encoding: .utf8)
    }
    let expected = try String(contentsOfFile: golden, encoding: .utf8)
    #expect(run.stdout == expected, "\(name) has changed; if that is wanted: make bless")
  }

  /// Wrong usage, unknown stores and unusable files end with their documented exit codes.
  @Test(arguments: [
    (["list", "--folder", "new"], 2 as Int32, "--server"), (["get"], 64, "region"),
    (["get", "a", "--folder", "new", "--piece", "1"], 64, "--piece"),
    (["around", "a", "--folder", "new"], 64, "--point"),
    (["around", "a", "--folder", "new", "--point", "1,200"], 64, "--point"),
    (["around", "a", "--folder", "new", "--track", "none.gpx"], 66, "none.gpx"),
    (["buy", "a", "--folder", "new", "--store-key", "none"], 66, "store-key"),
    (["login", "anna", "--folder", "new", "--server", "http://127.0.0.1:1"], 69, "127.0.0.1"),
  ])
  func unusableArgumentsAreRefused(_ arguments: [String], status: Int32, naming: String) async throws {
    let folder = try TemporaryFolder()
    let run = try await onThread {
      try Command(built: "mapstore").run(
        ["client"] + arguments, in: folder.path, environment: ["MAPSTORE_PASSWORD": "a long password"])
    }
    #expect(run.status == status && run.stderr.contains(naming), "\(run)")
  }
}
