import Foundation
import TestSupport
import Testing

/// `tilecut plan`, `cut --plan`, `missing` and `merge --plan`.
@Suite(.ownThread) struct ShardTests {
  let folder: TemporaryFolder
  static let raster = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")
  private static let options = ["--zoom", "0-12", "--format", "jpeg"]

  init() throws { folder = try TemporaryFolder() }

  private func run(_ words: [String], environment: [String: String] = [:]) throws -> CommandRun {
    try Command(built: "tilecut").run(words, in: folder.path, environment: environment)
  }

  /// Makes a plan of small shards, and returns how many there are.
  private func plan(_ tiles: Int = 20) throws -> Int {
    let run = try run(["plan", Self.raster] + Self.options + ["-o", "plan.json", "--shard-tiles", "\(tiles)"])
    #expect(run.status == 0, "\(run)")
    let json = try #require(try JSONSerialization.jsonObject(with: folder.bytes("plan.json")) as? [String: Any])
    return try #require(json["shards"] as? [Any]).count
  }

  private func cut(_ shard: Int) throws -> CommandRun { try run(["cut", "--plan", "plan.json", "--shard", "\(shard)"]) }

  /// Shards in any order, some of them twice, give the bytes of one process.
  @Test(arguments: ["out.mbtiles", "out.pmtiles"]) func mergedShardsAreTheUndividedCut(_ output: String) throws {
    #expect(try run(["cut", Self.raster, "-o", "whole-\(output)"] + Self.options).status == 0)
    let count = try plan()
    #expect(count > 4)
    for shard in (0..<count).reversed() { #expect(try cut(shard).status == 0) }
    let again = try cut(1)
    #expect(again.status == 0 && again.stdout.hasPrefix("shard 1 of \(count): "), "\(again)")
    let merge = try run(["merge", "--plan", "plan.json", "-o", output])
    #expect(merge.status == 0, "\(merge)")
    #expect(try folder.bytes(output) == folder.bytes("whole-\(output)"))
  }

  @Test func missingShardsAreNamedAndNotMerged() throws {
    let count = try plan()
    #expect(try run(["missing", "plan.json"]).stdout == "0-\(count - 1)\n")
    for shard in [0, 2, 3] { #expect(try cut(shard).status == 0) }
    #expect(try run(["missing", "plan.json"]).stdout == "1,4-\(count - 1)\n")
    expectRefusal(
      try run(["merge", "--plan", "plan.json", "-o", "out.mbtiles"]), status: 65,
      naming: "the shards 1,4-\(count - 1) are not done")
    #expect(!folder.names.contains("out.mbtiles"))
  }

  @Test func damagedShardIsNamedByTheMerge() throws {
    let count = try plan(40)
    for shard in 0..<count { #expect(try cut(shard).status == 0) }
    var bytes = [UInt8](try folder.bytes("plan.shards/1.pmtiles"))
    bytes[bytes.count / 2] ^= 1
    try folder.write("plan.shards/1.pmtiles", bytes: bytes)
    let merge = try run(["merge", "--plan", "plan.json", "-o", "out.mbtiles"])
    expectRefusal(merge, status: 65, naming: "plan.shards/1.pmtiles: is damaged")
    #expect(folder.names == ["plan.json", "plan.shards"])
  }

  @Test(arguments: [
    ("TILECUT_SHARD", "2"), ("SLURM_ARRAY_TASK_ID", "2"), ("JOB_COMPLETION_INDEX", "2"),
    ("AWS_BATCH_JOB_ARRAY_INDEX", "2"),
  ])
  func numberComesFromTheScheduler(_ name: String, _ value: String) throws {
    _ = try plan()
    let words = ["cut", "--plan", "plan.json", "--shard", "auto"]
    let run = try run(words, environment: [name: value])
    #expect(run.status == 0 && run.stdout.hasPrefix("shard 2 of "), "\(run)")
    let next = try self.run(words + ["--shard-offset", "1"], environment: [name: value])
    #expect(next.stdout.hasPrefix("shard 3 of "), "\(next)")
  }

  @Test func exitCodesTellSchedulersWhetherToTryAgain() throws {
    let count = try plan(40)
    #expect(try cut(count).status == 64)
    #expect(try run(["cut", "--plan", "plan.json", "--shard", "auto"]).status == 64)
    let text = String(decoding: try folder.bytes("plan.json"), as: UTF8.self)
    try folder.write("plan.json", text.replacing("\"root\": \"0/", with: "\"root\": \"1/"))
    try folder.write("other.json", text.replacing(Self.raster, with: folder.file("missing.tif")))
    #expect(try run(["cut", "--plan", "other.json", "--shard", "0"]).status == 75)
    try folder.write("changed.json", text.replacing("levels(0...12)", with: "levels(0...11)"))
    #expect(try run(["cut", "--plan", "changed.json", "--shard", "0"]).status == 65)
  }
}
