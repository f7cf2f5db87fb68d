import Foundation
import TestSupport
import Testing

/// How a cut shows its progress.
@Suite(.ownThread) struct ProgressTests {
  let folder: TemporaryFolder
  let picture: String

  init() throws {
    folder = try TemporaryFolder()
    picture = try folder.writePlacedPicture(edge: 80)
  }

  private func cut(_ style: String) throws -> CommandRun {
    let run = try tilecut("cut", picture, "-o", folder.file("out.mbtiles"), "--force", "--progress", style)
    #expect(run.status == 0, "\(run)")
    // Standard output has the summary only.
    #expect(run.stdoutLines.count == 1 && run.stdout.hasPrefix("\(folder.file("out.mbtiles")): "), "\(run)")
    return run
  }

  @Test(arguments: ["-q", "--quiet"]) func quietLeavesProgressOut(_ option: String) throws {
    let output = folder.file("out.mbtiles")
    for words in [
      ["cut", picture, "-o", output], ["verify", output], ["inspect", output],
      ["metadata", "set", output, "attribution", "us", "--json"], ["convert", output, folder.file("out.pmtiles")],
    ] {
      let run = try Command(built: "tilecut").run(words + ["--progress", "json", option])
      #expect(run.status == 0 && run.stderr.isEmpty && run.stdoutLines.count >= 1, "\(run)")
    }
  }

  /// What all commands print of their progress.
  struct Line: Decodable {
    let done: Int
    let total: Int?
    let unit: String
    let perSecond, seconds: Double
    let secondsLeft: Double?
    // Of cuts.
    let tilesStored, bytesStored: Int?
  }

  private func lines(_ run: CommandRun) throws -> [Line] {
    try run.stderrLines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
  }

  @Test func jsonProgressCountsUpToTheTotal() throws {
    let run = try cut("json")
    let lines = try run.stderrLines.map { line in
      let keys = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]).keys
      #expect(
        keys.sorted() == [
          "bytesStored", "done", "perSecond", "seconds", "secondsLeft", "tilesStored", "total", "unit",
        ])
      return try JSONDecoder().decode(Line.self, from: Data(line.utf8))
    }
    let last = try #require(lines.last)
    #expect(last.done == last.total && last.secondsLeft == 0 && last.unit == "tiles")
    let tiles = try SQLiteFile.tiles(folder.file("out.mbtiles")).count
    #expect(last.tilesStored == tiles && last.done >= tiles && (last.bytesStored ?? 0) > 0)
    for (line, next) in zip(lines, lines.dropFirst()) {
      #expect(line.done < next.done && line.seconds <= next.seconds && line.total == next.total)
    }
  }

  /// The count of a bundle's tiles is known before they are decoded.
  @Test(arguments: [
    ["verify", "world.mbtiles"], ["convert", "world.mbtiles", "out.pmtiles"],
    ["extract", "world.mbtiles", "-o", "out.gpkg"], ["merge", "world.mbtiles", "-o", "out.mbtiles"],
    ["extract", "world.mbtiles", "-o", "out.mbtiles", "--zoom", "0-5"], ["verify", "world.gpkg"],
    ["convert", "world.gpkg", "out.mbtiles"], ["preview", "world.mbtiles", "--contact-sheet", "-o", "sheet.png"],
    ["inspect", "world.gpkg"],
  ])
  func tilesAreCountedWithRateAndTimeLeft(_ words: [String]) throws {
    let bundle = try folder.writeBundle("world.mbtiles", zooms: 0...5)
    if words.contains("world.gpkg") { #expect(try tilecut("convert", bundle, folder.file("world.gpkg")).status == 0) }
    let run = try Command(built: "tilecut").run(words + ["--progress", "json"], in: folder.path)
    #expect(run.status == 0, "\(run)")
    let line = try #require(try lines(run).first)
    #expect(line.unit == "tiles" && line.perSecond > 0 && line.total == 1365, "\(run)")
    let left = line.seconds * (1365 / Double(line.done) - 1)
    #expect(abs((line.secondsLeft ?? -1) - left) < 0.02 * left + 0.01, "\(run)")
    let again = ["verify", "inspect"].contains(words[0]) ? [] : ["--force"]
    let bar = try Command(built: "tilecut").run(words + again + ["--progress", "bar"], in: folder.path)
    #expect(bar.stderr.hasSuffix("\r\u{1b}[K"), "\(bar)")
  }

  /// The copy of a database or of an archive is counted. Of a folder only small documents are written.
  @Test(arguments: ["out.mbtiles", "out.pmtiles", "out.gpkg", "out/"])
  func bytesOfChangedBundlesAreCounted(_ name: String) throws {
    let bundle = try folder.writeBundle("world.mbtiles")
    #expect(try tilecut("convert", bundle, folder.file(name)).status == 0)
    let words = ["metadata", "set", name, "attribution", "us"]
    let run = try Command(built: "tilecut").run(words + ["--progress", "json"], in: folder.path)
    #expect(run.status == 0 && run.stdout.isEmpty, "\(run)")
    let last = try lines(run).last
    #expect((last == nil) == (name == "out/"), "\(run)")
    if let last { #expect(last.unit == "bytes" && last.done > 0 && last.done == last.total, "\(run)") }
    // Standard error is no terminal.
    let piped = try Command(built: "tilecut").run(words, in: folder.path)
    #expect(piped.status == 0 && piped.stderr.isEmpty, "\(piped)")
  }

  /// A patch is made in five passes over the tiles, and tried out; it is applied in one.
  @Test func tilesOfPatchesAreCounted() throws {
    _ = try folder.writeBundle("old.mbtiles", zooms: 0...5)
    _ = try folder.writeBundle("new.mbtiles", zooms: 0...5, seed: 1)
    for (words, total) in [
      (["diff", "old.mbtiles", "new.mbtiles", "-o", "patch"], 5 * 1365),
      (["apply", "patch", "old.mbtiles", "-o", "out.mbtiles"], 1365),
    ] {
      let run = try Command(built: "tilecut").run(words + ["--progress", "json"], in: folder.path)
      #expect(run.status == 0, "\(run)")
      let line = try #require(try lines(run).first)
      #expect(line.done > 0 && line.total == total, "\(run)")
    }
  }

  struct BuildLine: Decodable {
    struct Region: Decodable { let id: String }
    struct Running: Decodable {
      let region: String
      let step, unit: String?
      let done, total: Int?
    }
    let done, total: Int
    let unit: String
    let seconds, perSecond, tilesPerSecond: Double
    let secondsLeft: Double?
    let running: [Running]
    let region: Region?
  }

  @Test func aBuildSaysItsRateAndHowMuchTimeIsLeft() throws {
    let regions = (1...3).map {
      #"{"id": "r\#($0)", "title": "t", "category": "c", "sources": ["placed.png"], "zoom": [0, 2]}"#
    }
    let manifest = try folder.write("regions.json", #"{"regions": [\#(regions.joined(separator: ", "))]}"#)
    func build(_ style: String) throws -> CommandRun {
      let run = try tilecut(
        "build", manifest, "-o", folder.file("shelf"), "--rebuild", "--jobs", "1", "--progress", style)
      #expect(run.status == 0, "\(run)")
      return run
    }
    let run = try build("json")
    let all = try run.stderrLines.map { try JSONDecoder().decode(BuildLine.self, from: Data($0.utf8)) }
    #expect(all.allSatisfy { $0.unit == "regions" && $0.total == 3 }, "\(run)")
    // A region that is being made is seen before it is done.
    let first = try #require(all.first)
    #expect(first.done == 0 && first.region == nil && first.running.map(\.region) == ["r1"], "\(run)")
    let lines = all.filter { $0.region != nil }
    try #require(lines.map(\.done) == [1, 2, 3], "\(run)")
    // After the first of three regions, twice its time is left.
    let left = try #require(lines[0].secondsLeft)
    #expect(lines[0].seconds > 0 && abs(left - 2 * lines[0].seconds) < 0.002, "\(run)")
    #expect(lines[2].secondsLeft == 0 && lines.allSatisfy { $0.tilesPerSecond > 0 && $0.perSecond > 0 }, "\(run)")
    #expect(try build("bar").stderr.contains(#/\d+ tiles/s, .* left; /#), "the bar says it")
  }

  @Test func progressNonePrintsNothing() throws {
    #expect(try cut("none").stderr.isEmpty)
  }

  /// The bar is redrawn in one line, and removed at the end.
  @Test func progressBarIsOneLine() throws {
    let text = try cut("bar").stderr
    let states = text.components(separatedBy: "\r\u{1b}[K")
    #expect(states.first == "" && states.last == "", "\(text.debugDescription)")
    #expect(states.contains { $0.hasPrefix("[#") && $0.contains(" tiles/s, ") }, "\(text.debugDescription)")
    #expect(!text.contains("\n"))
  }

  /// False in containers without pseudo-terminals, where `script` can run nothing.
  private static let canMakeTerminals =
    (try? Command(installed: "script")?.run(["-qec", "true", "/dev/null"]))?.status == 0

  @Test(
    .enabled(if: Command(installed: "script") != nil, "script is not installed (apt-get install bsdutils)"),
    .enabled(if: canMakeTerminals, "no pseudo-terminal can be made here (mount devpts at /dev/pts)"))
  func progressBarIsDrawnOnTerminals() throws {
    let line = "'\(try Command(built: "tilecut").path)' cut '\(picture)' -o '\(folder.file("out.mbtiles"))'"
    let run = try #require(Command(installed: "script")).run(["-qec", line, "/dev/null"])
    #expect(run.status == 0 && run.stdout.contains("\r\u{1b}[K[") && run.stdout.contains(" tiles/s, "), "\(run)")
  }

  /// The sources are all that a dry run and a plan may read for long. They are read once.
  @Test func readingSourcesIsCountedInBytes() throws {
    let manifest = try folder.write(
      "regions.json",
      #"{"regions": [{"id": "a", "title": "t", "category": "c", "sources": ["placed.png"], "zoom": [0, 1]}]}"#)
    let bytes = ["placed.png", "placed.pgw", "placed.prj"].reduce(0) { $0 + ((try? folder.bytes($1).count) ?? 0) }
    func read(_ words: String...) throws -> Line? {
      let run = try Command(built: "tilecut").run(words + ["--progress", "json"])
      #expect(run.status == 0, "\(run)")
      return try lines(run).last
    }
    let dry = try #require(try read("build", manifest, "-o", folder.file("a"), "--dry-run"))
    #expect(dry.unit == "bytes" && dry.done == bytes && dry.total == bytes && dry.secondsLeft == 0)
    let plan = folder.file("plan.json")
    let line = try #require(try read("plan", manifest, "--catalogue", folder.file("a"), "-o", plan))
    #expect(line.unit == "bytes" && line.done == bytes)
    #expect(try read("plan", manifest, "--catalogue", folder.file("a"), "-o", plan, "--force") == nil)
    let one = try tilecut("build", "--plan", plan, "--shard", "0", "--json")
    let value = try JSONSerialization.jsonObject(with: Data(one.stdout.utf8)) as? [String: Any]
    #expect(one.status == 0 && (value?["region"] as? [String: Any])?["id"] as? String == "a", "\(one)")
  }

  /// One large region says how far it is, as many small ones do.
  @Test func aBuildInAFileSaysHowFarItIs() throws {
    let raster = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")
    let manifest = try folder.write(
      "regions.json",
      #"{"regions": [{"id": "one", "title": "t", "category": "c", "sources": ["\#(raster)"], "zoom": [0, 17]}]}"#)
    let build = try startTilecut(
      "build", manifest, "-o", folder.file("shelf"), "--threads", "1", "--progress", "plain")
    #expect(build.wait(timeout: 40) { build.stderr.contains("\n") })
    build.send(SIGTERM)
    let run = build.wait()
    let line = try #require(run.stderrLines.first)
    #expect(line.wholeMatch(of: /0 of 1 done, \d+ tiles\/s, .* left; one \d+%/) != nil, "\(run)")
    #expect(run.status == 143)
  }

  /// Standard error is a file: a line every few seconds if it is asked for, and no control characters.
  @Test(arguments: ["plain", "auto"]) func progressWithoutATerminal(_ style: String) throws {
    let raster = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")
    let cut = try startTilecut(
      "cut", raster, "-o", folder.file("out.mbtiles"), "--zoom", "0-17", "--threads", "1", "--progress", style)
    // Longer than the time between two lines.
    let isShown = cut.wait(timeout: style == "plain" ? 40 : 7) { cut.stderr.contains("\n") }
    #expect(isShown == (style == "plain"))
    cut.send(SIGTERM)
    let run = cut.wait()
    if style == "plain" {
      let line = try #require(run.stderrLines.first)
      #expect(line.wholeMatch(of: /\d+ of \d+ tiles, \d+ tiles\/s, [\d.]+ k?M?B, .* left/) != nil, "\(run)")
    }
    #expect(!run.stderr.contains("\r") && !run.stderr.contains("\u{1b}"))
    #expect(run.status == 143)
  }
}
