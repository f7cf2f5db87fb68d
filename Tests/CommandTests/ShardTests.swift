import Foundation
import TestSupport
import Testing

/// `tilecut plan`, `cut --plan`, `missing` and `merge --plan`.
@Suite(.ownThread) struct ShardTests {
  let folder: TemporaryFolder
  static let raster = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")
  private static let options = ["--zoom", "0-11", "--format", "jpeg"]

  init() throws { folder = try TemporaryFolder() }

  private func run(_ words: [String], environment: [String: String] = [:]) throws -> CommandRun {
    try Command(built: "tilecut").run(words, in: folder.path, environment: environment)
  }

  /// Makes a plan of small shards, and returns how many there are.
  private func plan(_ tiles: Int = 20, _ options: [String] = options) throws -> Int {
    let run = try run(["plan", Self.raster] + options + ["-o", "plan.json", "--shard-tiles", "\(tiles)"])
    #expect(run.status == 0, "\(run)")
    let json = try #require(try JSONSerialization.jsonObject(with: folder.bytes("plan.json")) as? [String: Any])
    return try #require(json["shards"] as? [Any]).count
  }

  /// A plan whose shards are done: made once for each size of shards, and copied.
  private struct Finished: Sendable {
    let folder: TemporaryFolder
    let count: Int
    static let small = Result { try Finished(shardTiles: 20) }
    static let large = Result { try Finished(shardTiles: 40) }

    private init(shardTiles: Int) throws {
      let tests = try ShardTests()
      folder = tests.folder
      count = try tests.plan(shardTiles)
      for shard in (0..<count).reversed() { #expect(try tests.cut(shard).status == 0) }
      let again = try tests.cut(0)
      #expect(again.status == 0 && again.stdout.hasPrefix("shard 0 of \(count): "), "\(again)")
      #expect(try tests.run(["cut", ShardTests.raster, "-o", "whole.mbtiles"] + ShardTests.options).status == 0)
    }
  }

  /// Plan and shards as ``plan(_:_:)`` and ``cut(_:)`` make them, in this test's folder.
  private func finish(_ finished: Result<Finished, any Error> = Finished.small) throws -> Int {
    let finished = try finished.get()
    for name in ["plan.json", "plan.shards"] {
      try FileManager.default.copyItem(atPath: finished.folder.file(name), toPath: folder.file(name))
    }
    return finished.count
  }

  private func cut(_ shard: Int) throws -> CommandRun {
    try run(["cut", "--plan", "plan.json", "--shard", "\(shard)"])
  }

  private func merge(_ output: String) throws -> CommandRun { try run(["merge", "--plan", "plan.json", "-o", output]) }

  struct Case: Sendable, CustomTestStringConvertible {
    let output: String
    var options = ShardTests.options
    var shardTiles = 20
    var testDescription: String { ([output, "\(shardTiles)"] + options).joined(separator: " ") }
  }

  private static let cases = [
    Case(output: "out.mbtiles"), Case(output: "out.pmtiles"),
    // Roots above the bundle's zooms.
    Case(output: "out.pmtiles", options: ["--zoom", "11", "--format", "jpeg"], shardTiles: 9),
    // Another grid.
    Case(output: "out.mbtiles", options: ["--matrix", "degrees", "--format", "jpeg"], shardTiles: 2),
  ]
  private static let moreCases = [
    Case(output: "out.gpkg"),
    Case(output: "out.mbtiles", options: ["--zoom", "11", "--format", "jpeg"], shardTiles: 9),
    // Shards of one subtree each, and one shard.
    Case(output: "out.mbtiles", options: ["--zoom", "0-12"], shardTiles: 1),
    Case(output: "out.pmtiles", shardTiles: 1_000_000), Case(output: "out.mbtiles", shardTiles: 1_000_000),
    // Bundles of two formats, and tiles whose detail is that of the next zoom.
    Case(output: "out.pmtiles", options: ["--zoom", "0-11", "--format", "auto", "--effort", "fast"]),
    Case(output: "out.mbtiles", options: ["--zoom", "0-11", "--format", "jpeg", "--tile-size", "512"], shardTiles: 5),
    Case(output: "out.mbtiles", options: ["--matrix", "WorldCRS84Quad", "--zoom", "0-11", "--format", "jpeg"]),
  ]

  @Test(arguments: cases) func mergedShardsAreTheUndividedCut(_ test: Case) throws { try expectSameBytes(test) }
  @Test(.long, arguments: moreCases) func mergedShardsOfOtherCutsAreToo(_ test: Case) throws {
    try expectSameBytes(test)
  }

  /// Shards in any order, one of them twice, give the bytes of one process.
  private func expectSameBytes(_ test: Case) throws {
    #expect(try run(["cut", Self.raster, "-o", "whole-\(test.output)"] + test.options).status == 0)
    if test.shardTiles == 20, test.options == Self.options {
      #expect(try finish() > 1)
    } else {
      let count = try plan(test.shardTiles, test.options)
      #expect(test.shardTiles > 1000 ? count == 1 : count > 1)
      for shard in (0..<count).reversed() { #expect(try cut(shard).status == 0) }
      #expect(try cut(0).status == 0)
    }
    let merge = try merge(test.output)
    #expect(merge.status == 0, "\(merge)")
    #expect(try folder.bytes(test.output) == folder.bytes("whole-\(test.output)"))
    let shards = try FileManager.default.contentsOfDirectory(atPath: folder.file("plan.shards"))
    #expect(shards.filter { $0.hasPrefix(".") } == [])
  }

  /// The tiles of the shards are counted, whether they are copied or named.
  @Test(arguments: ["out.mbtiles", "out.pmtiles", "out.tileset"])
  func aMergeShowsItsProgress(_ output: String) throws {
    _ = try finish()
    let run = try run(["merge", "--plan", "plan.json", "-o", output, "--progress", "json"])
    #expect(run.status == 0, "\(run)")
    let lines = try run.stderrLines.map { try JSONDecoder().decode(ProgressTests.Line.self, from: Data($0.utf8)) }
    let last = try #require(lines.last)
    #expect(lines.count > 1 && last.done == last.total && last.secondsLeft == 0, "\(run)")
    for (line, next) in zip(lines, lines.dropFirst()) { #expect(line.done <= next.done) }
  }

  /// Each shard finds the places of all labels, and has those of the whole.
  @Test func labelsOfShardsAreThoseOfTheWhole() throws {
    let places = (0..<40).map { i in
      let place = "[\(-105.9 + Double(i * 37 % 40) * 0.01), \(40.17 + Double(i) * 0.0095)]"
      return #"{"type": "Feature", "properties": {"name": "Place \#(i)"}, "geometry": "#
        + #"{"type": "Point", "coordinates": \#(place)}}"#
    }
    try folder.write(
      "places.geojson", #"{"type": "FeatureCollection", "features": [\#(places.joined(separator: ","))]}"#)
    try folder.write(
      "map.json",
      #"""
      {"regions": [{"id": "a", "title": "A", "category": "c", "zoom": [7, 12], "format": "jpeg", "layers": [
        {"type": "raster", "sources": ["\#(Self.raster)"]},
        {"type": "vector", "data": "places.geojson", "style": [{"type": "symbol", "layout": {
          "text-field": "{name}", "text-size": 20, "icon-image": "peak", "text-anchor": "left",
          "text-offset": [0.8, 0]}}]},
        {"type": "graticule"}]}]}
      """#)
    #expect(try run(["cut", "map.json", "-o", "whole.pmtiles"]).status == 0)
    #expect(try run(["cut", "map.json", "-o", "one.pmtiles", "--threads", "1"]).status == 0)
    #expect(try folder.bytes("whole.pmtiles") == folder.bytes("one.pmtiles"))
    #expect(try run(["plan", "map.json", "-o", "plan.json", "--shard-tiles", "9"]).status == 0)
    let json = try #require(try JSONSerialization.jsonObject(with: folder.bytes("plan.json")) as? [String: Any])
    let count = try #require(json["shards"] as? [Any]).count
    #expect(count > 3)
    for shard in (0..<count).reversed() { #expect(try cut(shard).status == 0) }
    #expect(try merge("out.pmtiles").status == 0)
    #expect(try folder.bytes("out.pmtiles") == folder.bytes("whole.pmtiles"))
  }

  /// A machine that has another file of the same font makes no shard.
  @Test func otherFontsAreRefused() throws {
    try folder.write("place.gpx", "<gpx><wpt lat='40.35' lon='-105.7'><name>Ida</name></wpt></gpx>")
    try folder.write(
      "map.json",
      #"""
      {"regions": [{"id": "a", "title": "A", "category": "c", "zoom": [7, 9], "format": "jpeg", "layers": [
        {"type": "raster", "sources": ["\#(Self.raster)"]},
        {"type": "vector", "data": "place.gpx", "style": [{"type": "symbol", "layout": {"text-field": "{name}"}}]}]}]}
      """#)
    #expect(try run(["plan", "map.json", "-o", "plan.json"]).status == 0)
    let font = try #require(Command(installed: "fc-match")).run(["-f", "%{file}", "Open Sans"]).stdout
    try FileManager.default.createDirectory(atPath: folder.file("fonts"), withIntermediateDirectories: false)
    try folder.write("fonts/OpenSans.ttf", bytes: Array(Data(contentsOf: URL(fileURLWithPath: font))) + [0])
    try folder.write(
      "fonts.conf",
      "<fontconfig><dir>\(folder.file("fonts"))</dir><cachedir>\(folder.file("cache"))</cachedir></fontconfig>")
    let other = ["FONTCONFIG_FILE": folder.file("fonts.conf")]
    expectRefusal(
      try run(["cut", "--plan", "plan.json", "--shard", "0"], environment: other), status: 65,
      naming: "another font Open Sans,")
    #expect(try cut(0).status == 0)
  }

  /// Without a copy of the tiles; what is converted from it is the undivided cut.
  @Test func tilesetOfShardsIsOneBundle() throws {
    #expect(try run(["cut", Self.raster, "-o", "whole.pmtiles"] + Self.options).status == 0)
    _ = try finish()
    let merge = try merge("out.tileset")
    #expect(merge.status == 0 && merge.stdout.hasPrefix("out.tileset: 48 tiles, zoom 0-11, "), "\(merge)")
    #expect(try run(["verify", "out.tileset"]).status == 0)
    #expect(try run(["inspect", "out.tileset"]).stdout.contains("a tileset of shards"))
    #expect(try run(["convert", "out.tileset", "out.pmtiles"]).status == 0)
    #expect(try folder.bytes("out.pmtiles") == folder.bytes("whole.pmtiles"))
    expectRefusal(
      try run(["cut", Self.raster, "-o", "other.tileset"] + Self.options), status: 74, naming: "merge --plan")
  }

  @Test func missingShardsAreNamedAndNotMerged() throws {
    let count = try plan()
    #expect(try run(["missing", "plan.json"]).stdout == "0-\(count - 1)\n")
    #expect(try cut(1).status == 0)
    #expect(try run(["missing", "plan.json"]).stdout == "0,2-\(count - 1)\n")
    let listed = try run(["missing", "plan.json", "--json"]).stdout
    #expect(try JSONDecoder().decode([Int].self, from: Data(listed.utf8)) == [0] + Array(2..<count))
    expectRefusal(try merge("out.mbtiles"), status: 65, naming: "has shards that are not done: 0,2-\(count - 1)")
    #expect(!folder.names.contains("out.mbtiles"))
  }

  @Test(arguments: ["out.mbtiles", "out.pmtiles"]) func damagedShardIsNamedByTheMerge(_ output: String) throws {
    _ = try finish(Finished.large)
    let shard = "plan.shards/1.pmtiles"
    var bytes = [UInt8](try folder.bytes(shard))
    bytes[bytes.count / 2] ^= 1
    try folder.write(shard, bytes: bytes)
    expectRefusal(try merge(output), status: 65, naming: "\(shard): is damaged")
    // A tileset copies nothing, and reads what it names when it is asked to.
    let tileset = ["merge", "--plan", "plan.json", "-o", "out.tileset"]
    expectRefusal(try run(tileset + ["--verify"]), status: 65, naming: "\(shard): is damaged")
    #expect(folder.names == ["plan.json", "plan.shards"])
    // The remedy.
    try FileManager.default.removeItem(atPath: folder.file(shard))
    #expect(try run(["missing", "plan.json"]).stdout == "1\n")
    #expect(try cut(1).status == 0)
    #expect(try merge(output).status == 0)
    #expect(try run(tileset + ["--verify"]).status == 0)
  }

  /// A bundle that somebody put in the place of another, with a receipt to it.
  @Test(arguments: ["out.mbtiles", "out.pmtiles", "out.tileset"])
  func theBundleOfAnotherShardIsNamedByTheMerge(_ output: String) throws {
    _ = try finish()
    for suffix in ["pmtiles", "rgba"] {
      try folder.write("plan.shards/2.\(suffix)", bytes: Array(folder.bytes("plan.shards/1.\(suffix)")))
    }
    let receipt = String(decoding: try folder.bytes("plan.shards/1.json"), as: UTF8.self)
    try folder.write("plan.shards/2.json", receipt.replacing("\"shard\": 1", with: "\"shard\": 2"))
    expectRefusal(try merge(output), status: 65, naming: "plan.shards/2.pmtiles: is damaged")
    #expect(folder.names == ["plan.json", "plan.shards"])
  }

  /// Without a name the tileset lies beside the plan, where its shards are, and nothing is copied.
  @Test func withoutAnOutputAMergeWritesTheTilesetBesideThePlan() throws {
    _ = try finish()
    let merge = ["merge", "--plan", "plan.json"]
    expectRefusal(try run(merge + ["--on-conflict", "overlay"]), status: 64, naming: "leave --on-conflict out")
    expectRefusal(try run(["merge", "a.mbtiles"]), status: 64, naming: "'--output <output>'")
    let first = try run(merge)
    #expect(first.status == 0 && first.stdout.contains("plan.tileset: "), "\(first)")
    #expect(folder.names == ["plan.json", "plan.shards", "plan.tileset"])
    #expect(try run(["verify", "plan.tileset"]).status == 0)
    #expect(try run(merge).status == 73)
    #expect(try run(merge + ["--force"]).status == 0)
  }

  @Test func aPlanOfOneShardIsDescribedInTheSingular() throws {
    let run = try run(["plan", Self.raster] + Self.options + ["-o", "plan.json", "--shard-tiles", "1000000"])
    #expect(run.stdout.hasPrefix("plan.json: 1 shard of zoom 0, up to ") && run.stdout.hasSuffix(" tiles\n"), "\(run)")
  }

  @Test func aPlanIsDescribedInJSON() throws {
    let plan = ["plan", Self.raster] + Self.options + ["-o", "plan.json", "--shard-tiles", "40", "--json"]
    let run = try run(plan)
    #expect(run.status == 0, "\(run)")
    let value = try #require(try JSONSerialization.jsonObject(with: Data(run.stdout.utf8)) as? [String: Any])
    let tiles = try #require(value["shardTiles"] as? [Int])
    #expect(value["path"] as? String == "plan.json" && value["shards"] as? Int == tiles.count)
    #expect(value["tiles"] as? Int == tiles.reduce(0, +) && tiles.count > 1)
  }

  @Test func damagedPixelsAreNamedByTheMerge() throws {
    _ = try finish(Finished.large)
    var bytes = [UInt8](try folder.bytes("plan.shards/1.rgba"))
    bytes[bytes.count / 2] ^= 1
    try folder.write("plan.shards/1.rgba", bytes: bytes)
    for output in ["out.mbtiles", "out.pmtiles", "out.tileset"] {
      expectRefusal(try merge(output), status: 65, naming: "plan.shards/1.rgba: is damaged")
    }
    #expect(folder.names == ["plan.json", "plan.shards"])
  }

  /// Plans lie on shared disks and are passed on.
  @Test(arguments: [
    ("http://anna:secret@127.0.0.1:1/a.tif", "a password"), ("http://127.0.0.1:1/a.tif?x=1&token=secret", "a token"),
    ("https://127.0.0.1:1/a.tif?X-Amz-Signature=secret", "a X-Amz-Signature"),
    ("http://127.0.0.1:1/a.tif?token=${SHARD_TEST_NONE}", "the variable SHARD_TEST_NONE, which is not set"),
  ])
  func secretsOfAddressesAreLeftToTheEnvironment(_ source: String, _ what: String) throws {
    let run = try run(["plan", source, "-o", "plan.json"])
    #expect(run.status == 64 && run.stderr.contains(what) && !run.stderr.contains("secret"), "\(run)")
    #expect(folder.names == [])
  }

  /// A file with the size and the time of the planned one is not read again; one with other times is.
  @Test func sourcesAreReadWhenTheirTimesChanged() throws {
    let original = [UInt8](try Data(contentsOf: URL(filePath: Self.raster)))
    let raster = try folder.write("map.tif", bytes: original)
    #expect(try run(["plan", "map.tif", "-o", "plan.json", "--shard-tiles", "40"] + Self.options).status == 0)
    func set(_ seconds: Double) throws {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: seconds)], ofItemAtPath: raster)
    }
    // The same content with another time, as a copy on another machine has it.
    try set(1e9)
    #expect(try cut(0).status == 0)
    var bytes = original
    bytes[bytes.count / 2] ^= 1
    try folder.write("map.tif", bytes: bytes)
    expectRefusal(try cut(1), status: 65, naming: "the source map.tif has changed since")
    // Content is what counts: a plan of the changed file is another plan.
    try folder.write("map.tif", bytes: original)
    #expect(try cut(1).status == 0)
  }

  @Test(arguments: ["TILECUT_SHARD", "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX"])
  func numberComesFromTheScheduler(_ name: String) throws {
    _ = try plan()
    let plan = ["cut", "--plan", "plan.json", "--shard"]
    let words = plan + ["auto"]
    let run = try run(words, environment: [name: "1"])
    #expect(run.status == 0 && run.stdout.hasPrefix("shard 1 of "), "\(run)")
    guard name == "TILECUT_SHARD" else { return }
    let next = try self.run(plan + ["auto+2"], environment: [name: "1"])
    #expect(next.stdout.hasPrefix("shard 3 of "), "\(next)")
    try folder.write("list", "0,2-3\n")
    let listed = try self.run(words + ["--shard-list", "list"], environment: [name: "1"])
    #expect(listed.stdout.hasPrefix("shard 2 of "), "\(listed)")
    #expect(try self.run(words + ["--shard-list", "list"], environment: [name: "3"]).status == 64)
    let beyond = try self.run(plan + ["auto+1"], environment: [name: "\(Int.max)"])
    expectRefusal(beyond, status: 64, naming: "--shard: 1 more")
    for word in ["auto+", "auto+x", "auto+-1", "+1", "1+1+1", "some"] {
      expectRefusal(try self.run(plan + [word]), status: 64, naming: "'\(word)'")
    }
    // A disk that is not there may come back.
    expectRefusal(
      try self.run(words + ["--shard-list", "elsewhere"], environment: [name: "1"]), status: 75, naming: "elsewhere")
    try folder.write("list", "many\n")
    expectRefusal(
      try self.run(words + ["--shard-list", "list"], environment: [name: "1"]), status: 64, naming: "list is no list")
  }

  @Test func exitCodesTellSchedulersWhetherToTryAgain() throws {
    let raster = try folder.write("map.tif", bytes: [UInt8](Data(contentsOf: URL(filePath: Self.raster))))
    let plan = try run(["plan", "map.tif", "-o", "plan.json", "--shard-tiles", "40"] + Self.options)
    #expect(plan.status == 0, "\(plan)")
    #expect(try cut(1000).status == 64)
    #expect(try run(["cut", "--plan", "plan.json", "--shard", "auto"]).status == 64)
    // A disk that is not there may come back.
    #expect(try run(["cut", "--plan", "elsewhere.json", "--shard", "0"]).status == 75)
    #expect(try run(["missing", "elsewhere.json"]).status == 66)
    #expect(try cut(1).status == 0)
    try FileManager.default.moveItem(atPath: raster, toPath: raster + ".away")
    #expect(try cut(0).status == 75)
    // What needs no source is the same without it.
    #expect(try cut(1).status == 0)
    #expect(try cut(1000).status == 64)
    #expect(try run(["missing", "plan.json"]).stdout.hasPrefix("0"))
    try folder.write("map.tif", bytes: [UInt8](Data(contentsOf: URL(filePath: raster + ".away"))) + [0])
    expectRefusal(try cut(0), status: 65, naming: "the plan does not fit any more: the source map.tif has changed")
    let text = String(decoding: try folder.bytes("plan.json"), as: UTF8.self)
    try folder.write("plan.json", text.replacing("levels(0...11)", with: "levels(0...10)"))
    expectRefusal(try cut(0), status: 65, naming: "was changed after it was made")
    #expect(folder.names == ["map.tif", "map.tif.away", "plan.json", "plan.shards"])
  }

  /// Two attempts at one shard at the same time both end well; killed ones leave nothing that counts.
  @Test func attemptsMayMeetAndMayBeKilled() throws {
    var random = SeededGenerator(seed: 5)
    let count = try plan(40)
    func start() throws -> ChildProcess {
      try Command(built: "tilecut").start(["cut", "--plan", "plan.json", "--shard", "0"], in: folder.path)
    }
    let seconds = try cut(1).seconds
    for _ in 0..<(TestEffort.isFull ? 100 : 4) {
      let process = try start()
      usleep(UInt32(Double.random(in: 0...seconds, using: &random) * 1e6))
      process.send(SIGKILL)
      _ = process.wait()
    }
    let pair = [try start(), try start()]
    for process in pair {
      let run = process.wait()
      #expect(run.status == 0, "\(run)")
    }
    for shard in 0..<count { #expect(try cut(shard).status == 0) }
    #expect(try merge("out.mbtiles").status == 0)
    #expect(try folder.bytes("out.mbtiles") == Finished.large.get().folder.bytes("whole.mbtiles"))
  }

  @Test(
    .enabled(if: SchemaValidator.isThere, SchemaValidator.hint),
    arguments: [options, ["--matrix", "degrees", "--format", "jpeg"]])
  func plansAreAsTheSchemaSays(_ options: [String]) throws {
    _ = try plan(20, options)
    let first = try folder.bytes("plan.json")
    let run = try SchemaValidator.run("docs/reference/plan.schema.json", folder.file("plan.json"))
    #expect(run.status == 0, "\(run)")
    // Equal inputs, equal plans.
    try FileManager.default.removeItem(atPath: folder.file("plan.json"))
    _ = try plan(20, options)
    #expect(try folder.bytes("plan.json") == first)
  }
}
