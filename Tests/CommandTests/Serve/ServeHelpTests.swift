import Foundation
import TestSupport
import Testing

/// The help text of `tileserve`; `make bless` rewrites the golden file.
@Suite(.ownThread) struct ServeHelpTests {
  @Test func helpMatchesTheGoldenFile() throws {
    let run = try tileserve("--help")
    #expect(run.status == 0 && run.stderr.isEmpty, "\(run)")
    let golden = ProjectFiles.path("Tests/CommandTests/Goldens/tileserve-help.txt")
    if ProcessInfo.processInfo.environment["BLESS"] == "1" {
      try run.stdout.write(toFile: golden, atomically: true, encoding: .utf8)
    }
    #expect(try run.stdout == String(contentsOfFile: golden, encoding: .utf8), "if that is wanted: make bless")
    #expect(try tileserve("--version").stdout.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil)
  }

  @Test func readmeAndHelpListTheSameExitCodes() throws {
    let help = try tileserve("--help").stdout.split(whereSeparator: \.isNewline).joined(separator: " ")
    let documented = exitCodesInDocuments(of: "tileserve")
    #expect(documented.isSuperset(of: [0, 64, 66, 69, 70, 78, 130, 143]))
    for status in documented where status < 128 { #expect(help.contains(" \(status) "), "\(status)") }
  }
}
