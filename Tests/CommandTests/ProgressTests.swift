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

  struct Line: Decodable {
    let tilesDone, tilesTotal, tilesStored, bytesStored: Int
    let seconds, tilesPerSecond: Double
    let secondsLeft: Double?
  }

  @Test func jsonProgressCountsUpToTheTotal() throws {
    let run = try cut("json")
    let lines = try run.stderrLines.map { line in
      let keys = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]).keys
      #expect(
        keys.sorted() == [
          "bytesStored", "seconds", "secondsLeft", "tilesDone", "tilesPerSecond", "tilesStored", "tilesTotal",
        ])
      return try JSONDecoder().decode(Line.self, from: Data(line.utf8))
    }
    let last = try #require(lines.last)
    #expect(last.tilesDone == last.tilesTotal && last.secondsLeft == 0)
    let tiles = try SQLiteFile.tiles(folder.file("out.mbtiles")).count
    #expect(last.tilesStored == tiles && last.tilesTotal >= tiles && last.bytesStored > 0)
    for (line, next) in zip(lines, lines.dropFirst()) {
      #expect(line.tilesDone < next.tilesDone && line.tilesStored <= next.tilesStored && line.seconds <= next.seconds)
      #expect(line.tilesTotal == next.tilesTotal)
    }
  }

  /// The count of a bundle's tiles is known before they are decoded.
  @Test(arguments: [
    ["verify", "world.mbtiles"], ["convert", "world.mbtiles", "out.pmtiles"],
    ["extract", "world.mbtiles", "-o", "out.gpkg"], ["merge", "world.mbtiles", "-o", "out.mbtiles"],
  ])
  func tilesAreCountedWithRateAndTimeLeft(_ words: [String]) throws {
    _ = try folder.writeBundle("world.mbtiles", zooms: 0...5)
    let run = try Command(built: "tilecut").run(words + ["--progress", "json"], in: folder.path)
    #expect(run.status == 0, "\(run)")
    let line = try #require(run.stderrLines.first)
    let value = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    #expect(value["of"] as? String == "tiles" && (value["perSecond"] as? Double ?? 0) > 0, "\(run)")
    let (done, fraction) = (value["done"] as? Int ?? 0, value["fraction"] as? Double ?? 0)
    #expect(abs(fraction - Double(done) / 1365) < 0.001 && value["secondsLeft"] is Double, "\(run)")
    let again = words[0] == "verify" ? [] : ["--force"]
    let bar = try Command(built: "tilecut").run(words + again + ["--progress", "bar"], in: folder.path)
    #expect(bar.stderr.hasSuffix("\r\u{1b}[K"), "\(bar)")
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
      let line = try #require(run.stderrLines.first)
      let value = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      let (done, fraction) = (value["done"] as? Int ?? 0, value["fraction"] as? Double ?? 0)
      #expect(done > 0 && abs(fraction - Double(done) / Double(total)) < 0.001, "\(run)")
    }
  }

  struct BuildLine: Decodable {
    let done, total: Int
    let seconds, tilesPerSecond, secondsLeft: Double
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
    let lines = try run.stderrLines.map { try JSONDecoder().decode(BuildLine.self, from: Data($0.utf8)) }
    try #require(lines.map(\.done) == [1, 2, 3] && lines.allSatisfy { $0.total == 3 }, "\(run)")
    // After the first of three regions, twice its time is left.
    #expect(lines[0].seconds > 0 && abs(lines[0].secondsLeft - 2 * lines[0].seconds) < 0.001, "\(run)")
    #expect(lines[2].secondsLeft == 0 && lines.allSatisfy { $0.tilesPerSecond > 0 }, "\(run)")
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
