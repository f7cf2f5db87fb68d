import Foundation
import TestSupport
import Testing

/// The command `tileserve replay`.
@Suite(.ownThread) struct ReplayCommandTests {
  private struct Line: Decodable {
    var session: String
    var requests: Int
    var hitRate: Double
    var blankTileFrames: Int
    var hardBlanks: Int
    var stallMs: Double
    var precision: Double?
    var loads: Int
  }

  private struct Report: Decodable {
    var sessions: [Line]
    var total: Line
  }

  @Test func jsonReportSumsItsSessions() throws {
    let run = try tileserve(
      "replay", "--synthetic", "3:2", "--budget", "64MiB", "--policy", "default", "--json", timeout: 120)
    #expect(run.status == 0 && run.stderr.isEmpty, "\(run)")
    let report = try JSONDecoder().decode(Report.self, from: Data(run.stdout.utf8))
    #expect(report.sessions.map(\.session) == ["synthetic-3", "synthetic-4"])
    #expect(report.total.requests == report.sessions.map(\.requests).reduce(0, +))
    #expect(report.total.loads == report.sessions.map(\.loads).reduce(0, +))
    #expect(report.total.blankTileFrames == report.sessions.map(\.blankTileFrames).reduce(0, +))
    #expect(report.total.hitRate > 0.5 && report.total.precision != nil)
  }

  @Test func sessionFileIsReplayed() throws {
    let folder = try TemporaryFolder()
    let file = folder.file("walk.jsonl")
    try """
    {"meta": {"src": "mine"}}
    {"op": "start", "t": 0, "z": 14, "x": 0.52, "y": 0.36}
    {"op": "pan", "t": 1, "dur": 0.3, "dx": 0.8, "dy": 0}
    {"op": "jump", "t": 3, "dur": 0, "z": 12, "x": 0.53, "y": 0.36}
    """.write(toFile: file, atomically: true, encoding: .utf8)
    let run = try tileserve("replay", file, "--policy", "lru", "--device", "desktop", timeout: 60)
    #expect(run.status == 0 && run.stderr.isEmpty, "\(run)")
    #expect(run.stdoutLines.contains { $0.hasPrefix("walk ") } && run.stdout.contains("oracle"), "\(run)")
    let folderRun = try tileserve("replay", folder.path, "--json", timeout: 60)
    #expect(folderRun.status == 0 && folderRun.stdout.contains("\"walk\""), "\(folderRun)")
  }

  @Test func bundleIsReplayedInRealTime() throws {
    let folder = try TemporaryFolder()
    let bundle = folder.file("fault.mbtiles")
    let raster = ProjectFiles.path("sample-regions/jacksboro-fault/jacksboro-fault-relief.tif")
    // JPEG, because a debug build takes long to write a PNG.
    #expect(try tilecut("cut", raster, "-o", bundle, "--zoom", "0-12", "--format", "jpeg").status == 0)
    let run = try tileserve(
      "replay", "--synthetic", "5", "--bundle", bundle, "--speed", "60", "--budget", "48MiB", "--json",
      "--progress", "json", timeout: 120)
    #expect(run.status == 0 && run.stderr.hasPrefix(#"{"done":1,"total":1,"unit":"sessions","#), "\(run)")
    let report = try JSONDecoder().decode(Report.self, from: Data(run.stdout.utf8))
    #expect(report.total.requests > 100 && report.total.loads > 0, "\(run)")
    let census = try tileserve("replay", "--bundle", bundle, "--json")
    #expect(census.status == 0 && census.stdout.contains("\"paletteShare\":"), "\(census)")
  }

  @Test func evictionAloneComparesPolicies() throws {
    let run = try tileserve("replay", "--synthetic", "3:2", "--policy", "eviction", "--budget", "32MiB", timeout: 60)
    #expect(run.status == 0 && run.stderr.isEmpty, "\(run)")
    #expect(run.stdoutLines.filter { $0.hasPrefix("total ") }.count == 2, "one table for each way to count: \(run)")
  }

  @Test func unusableReplayArgumentsAreRefused() throws {
    let folder = try TemporaryFolder()
    let broken = folder.file("broken.jsonl")
    try "{\"op\": \"start\"}\n".write(toFile: broken, atomically: true, encoding: .utf8)
    expectRefused(try tileserve("replay", broken), status: 65, naming: "broken.jsonl")
    let list = "check the name: ls '\(folder.path)'\n"
    expectRefused(try tileserve("replay", folder.file("none.jsonl")), status: 66, naming: "none.jsonl: there is no")
    expectRefused(try tileserve("replay", folder.file("none.jsonl")), status: 66, naming: list)
    expectRefused(try tileserve("replay"), status: 64, naming: "Error: name sessions to replay, or --synthetic SEED\n")
    expectRefused(try tileserve("replay", "--synthetic", "x"), status: 64, naming: "--synthetic")
    expectRefused(
      try tileserve("replay", "--synthetic", "1", "--bundle", broken), status: 65, naming: "broken.jsonl")
    let none = folder.file("none.mbtiles")
    expectRefused(try tileserve("replay", "--synthetic", "1", "--bundle", none), status: 66, naming: list)
    expectRefused(try tileserve("replay", "--bundle", none), status: 66, naming: "none.mbtiles")
    for wrong in [
      ["--bundle", none, "--speed", "1"], ["--synthetic", "1", "--bundle", none, "--speed", "0"],
      ["--synthetic", "1", "--policy", "eviction", "--bundle", none], ["--synthetic", "1", "--speed", "2"],
      ["--synthetic", "1", "--policy", "best"], ["--synthetic", "1", "--source", "far"],
    ] {
      let run = try Command(built: "tileserve").run(["replay"] + wrong)
      #expect(run.status == 64 && run.stdout.isEmpty, "\(run)")
    }
  }

  private func expectRefused(_ run: CommandRun, status: Int32, naming name: String) {
    #expect(run.status == status && run.stderr.contains(name) && run.stdout.isEmpty, "\(run)")
  }
}
