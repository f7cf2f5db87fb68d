import Foundation
import TestSupport
import Testing

/// A cut beside the same one that is killed and continued, and beside the same one in shards.
struct DividedCut {
  let folder: TemporaryFolder
  /// Sources and options.
  let words: [String]

  func run(_ words: [String]) throws -> CommandRun {
    try Command(built: "tilecut").run(words, in: folder.path, timeout: 120)
  }

  /// Cuts without interruption, and returns the bundle's bytes.
  func whole(_ output: String = "whole.mbtiles", _ more: [String] = []) throws -> Data {
    let run = try run(["cut"] + words + more + ["-o", output, "--force"])
    #expect(run.status == 0, "\(run)")
    return try folder.bytes(output)
  }

  /// Kills a cut with `--resume` after its first checkpoint. Its work stays.
  func kill(_ output: String = "killed.mbtiles") throws {
    let process = try Command(built: "tilecut").start(
      ["cut"] + words + ["-o", output, "--resume", "--progress", "none"], in: folder.path)
    _ = process.wait { FileManager.default.fileExists(atPath: folder.file(".\(output).resume/checkpoint")) }
    process.send(SIGKILL)
    let run = process.wait()
    #expect(run.ending == .signal(SIGKILL), "\(run)")
  }

  /// Continues what ``kill(_:)`` left, and returns the bundle's bytes.
  func continued(_ output: String = "killed.mbtiles") throws -> Data {
    let run = try run(["cut"] + words + ["-o", output, "--resume"])
    #expect(run.status == 0 && run.stderr.contains("are there from before"), "\(run)")
    #expect(folder.names.filter { $0.hasPrefix(".") } == [])
    return try folder.bytes(output)
  }

  /// Plans shards of at most so many tiles.
  ///
  /// - Returns: how many there are.
  func plan(shardTiles: Int) throws -> Int {
    let run = try run(["plan"] + words + ["-o", "plan.json", "--shard-tiles", "\(shardTiles)", "--force"])
    #expect(run.status == 0, "\(run)")
    let json = try JSONSerialization.jsonObject(with: folder.bytes("plan.json")) as? [String: Any]
    return try #require(json?["shards"] as? [Any]).count
  }

  /// Cuts all shards of the plan, the last one first, and merges them.
  func merged(_ count: Int, _ output: String) throws -> Data {
    for shard in (0..<count).reversed() {
      let run = try run(["cut", "--plan", "plan.json", "--shard", "\(shard)"])
      #expect(run.status == 0, "\(run)")
    }
    let merge = try run(["merge", "--plan", "plan.json", "-o", output])
    #expect(merge.status == 0, "\(merge)")
    return try folder.bytes(output)
  }
}
