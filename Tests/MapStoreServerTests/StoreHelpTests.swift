import Foundation
import TestSupport
import Testing

/// The help text of `mapstore serve`; `make bless` rewrites the golden file.
@Suite(.ownThread) struct StoreHelpTests {
  @Test func helpIsTheGoldenFile() throws {
    let run = try Command(built: "mapstore").run(["help", "serve"])
    #expect(run.status == 0 && run.stderr.isEmpty, "\(run)")
    let golden = ProjectFiles.path("Tests/CommandTests/Goldens/mapstore-serve.txt")
    if ProcessInfo.processInfo.environment["BLESS"] == "1" {
      try run.stdout.write(toFile: golden, atomically: true, encoding: .utf8)
    }
    let expected = try String(contentsOfFile: golden, encoding: .utf8)
    #expect(run.stdout == expected, "mapstore-serve.txt has changed; if that is wanted: make bless")
    #expect(try Command(built: "mapstore").run(["serve", "--help"]).stdout == run.stdout)
  }
}
