import Foundation
import TestSupport
import Testing

/// The systemd units of the ledger's jobs.
@Suite(.ownThread) struct LedgerUnitTests {
  private static let folder = ProjectFiles.path("packaging/systemd")

  private static func units() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("purchase-ledger-") }.sorted()
  }

  private static func text(_ unit: String) throws -> String {
    try String(contentsOfFile: "\(folder)/\(unit)", encoding: .utf8)
  }

  /// systemd reads all units without a complaint. The programs that they start need not be installed here.
  @Test(.enabled(if: Command(installed: "systemd-analyze") != nil, "systemd-analyze is not installed"))
  func systemdAcceptsTheUnits() throws {
    let copies = try TemporaryFolder()
    var files: [String] = []
    for unit in try Self.units() {
      let text = try Self.text(unit).replacing(/(?m)^(Exec\w+=)\/\S+/) { "\($0.1)/bin/true" }
      files.append(try copies.write(unit, text))
    }
    let run = try #require(Command(installed: "systemd-analyze")).run(["verify", "--man=no"] + files)
    #expect(run.status == 0 && run.stderr.isEmpty, "\(run)")
  }

  /// Each timer starts a job with its name, whose command line the program accepts.
  @Test func commandLinesAreAccepted() throws {
    let units = try Self.units()
    let folder = try TemporaryFolder()
    let timers = units.filter { $0.hasSuffix(".timer") }.map { $0.replacing(".timer", with: "") }
    #expect(timers.count == 5)
    for job in timers {
      let text = try Self.text("\(job).service")
      #expect(text.contains("OnFailure=purchase-ledger-alert@%n.service"), "\(job)")
      let line = try #require(text.firstMatch(of: /(?m)^ExecStart=.*?purchase-ledger (.*?)'?$/)).1
      let words = line.replacing("/etc/map-toolkit/", with: "").replacing("%S/mapstore/", with: "")
        .replacing("$(date +%%a)", with: "Sun").replacing("\"", with: "").split(separator: " ").map(String.init)
      let run = try Command(built: "purchase-ledger").run(words, in: folder.path)
      // The configuration is not here; a wrong option would be 64.
      #expect(run.status == 2 && run.stderr.contains("ledger.json"), "\(job): \(run)")
    }
    let page = try String(contentsOfFile: ProjectFiles.path("docs/how-to/stores.md"), encoding: .utf8)
    for job in timers { #expect(page.contains("| `\(job)` |"), "\(job)") }
  }
}
