import Foundation
import TestSupport
import Testing

/// `tilecut cut --dry-run`: an estimate from a sample of tiles.
@Suite(.ownThread) struct DryRunTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static func sample(_ name: String) -> String { ProjectFiles.path("sample-regions/\(name)") }

  /// The estimate of a dry run, from its JSON.
  private func estimate(_ words: [String]) throws -> (tiles: Double, bytes: Double, seconds: Double, sampled: Int) {
    let run = try Command(built: "tilecut").run(["cut"] + words + ["--dry-run", "--json"], timeout: 120)
    #expect(run.status == 0 && run.stderr.isEmpty, "\(run)")
    let report = try #require(try JSONSerialization.jsonObject(with: Data(run.stdout.utf8)) as? [String: Any])
    #expect((report["zooms"] as? [[String: Any]])?.first?.keys.sorted() == ["tilesMax", "zoom"])
    #expect((report["sources"] as? [[String: Any]])?.first?["path"] as? String == words[0])
    let estimate = try #require(report["estimate"] as? [String: Any])
    func number(_ key: String) throws -> Double { try #require(estimate[key] as? Double) }
    return (try number("tiles"), try number("bytes"), try number("seconds"), try Int(number("sampledTiles")))
  }

  /// Tiles and bytes against those of the cut.
  private func expectEstimate(
    _ words: [String], factor: Double, seconds: Double? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let output = folder.file("out.mbtiles")
    let guess = try estimate(words + ["-o", output])
    #expect(folder.names == [], sourceLocation: sourceLocation)
    let run = try Command(built: "tilecut").run(["cut"] + words + ["-o", output, "--progress", "none"], timeout: 300)
    #expect(run.status == 0, "\(run)", sourceLocation: sourceLocation)
    let (bytes, tiles) = (Double(try folder.bytes("out.mbtiles").count), Double(try SQLiteFile.tiles(output).count))
    #expect(
      max(guess.bytes / bytes, bytes / guess.bytes) < factor, "\(guess), \(bytes)", sourceLocation: sourceLocation)
    #expect(
      max(guess.tiles / tiles, tiles / guess.tiles) < factor, "\(guess), \(tiles)", sourceLocation: sourceLocation)
    if let seconds {
      #expect(
        max(guess.seconds / run.seconds, run.seconds / guess.seconds) < seconds, "\(guess), \(run)",
        sourceLocation: sourceLocation)
    }
  }

  /// Few subtrees are all cut, so that only the coarsest zooms are a guess.
  @Test func estimateOfASmallMapIsNear() throws {
    try expectEstimate(
      [Self.sample("rocky-mountain-np/rocky-mountain-np-rgb.tif"), "--zoom", "0-11", "--format", "jpeg"], factor: 1.2)
  }

  /// From zoom 0 on most tiles of a small map are nearly empty.
  @Test(arguments: [
    ["rocky-mountain-np/rocky-mountain-np-rgb.tif"],
    ["rocky-mountain-np/rocky-mountain-np-rgb.tif", "--format", "jpeg"],
    ["rocky-mountain-np/rocky-mountain-np-rgb.tif", "--tile-size", "512"],
  ]) func estimateOfAllZoomsOfASmallMapIsNear(words: [String]) throws {
    try expectEstimate([Self.sample(words[0])] + words.dropFirst(), factor: 1.12)
  }

  @Test func estimateFromASampleIsNear() throws {
    try expectEstimate(
      [Self.sample("rocky-mountain-np/rocky-mountain-np-rgb.tif"), "--zoom", "8-13", "--format", "jpeg"], factor: 1.3)
  }

  /// A wide factor, because other programs run at the same time.
  @Test(.long) func estimatedTimeIsOfTheSameOrder() throws {
    try expectEstimate(
      [Self.sample("rocky-mountain-np/rocky-mountain-np-rgb.tif"), "--zoom", "8-14", "--format", "jpeg"], factor: 1.3,
      seconds: 4)
  }

  /// Zooms far above the sources' own are reduced from tiles that are not stored.
  @Test func coarseZoomsOfADetailedSourceHaveAnEstimate() throws {
    let guess = try estimate([
      Self.sample("rocky-mountain-np/rocky-mountain-np-rgb.tif"), "--zoom", "0-3", "-o", folder.file("a.pmtiles"),
    ])
    #expect(guess.tiles == 4 && guess.bytes > 100 && guess.sampled > 0)
  }

  @Test func textHasTheEstimateAfterTheCounts() throws {
    let picture = try folder.writePlacedPicture()
    let run = try tilecut("cut", picture, "-o", folder.file("a.mbtiles"), "--zoom", "2-4", "--dry-run")
    let line = try #require(run.stdoutLines.first { $0.contains("about") }, "\(run)")
    let tiles = mercatorTiles(west: 10, south: 40, east: 20, north: 50, 2...4).count
    #expect(line.hasPrefix("  about \(tiles) tiles, ") && line.hasSuffix(" s (from a sample of \(tiles))"), "\(run)")
  }

  /// A part of the map is in the bundle, and the whole of it is drawn over that.
  @Test func anAdditionHasAnEstimate() throws {
    let source = Self.sample("rocky-mountain-np/rocky-mountain-np-rgb.tif")
    let bundle = folder.file("part.mbtiles")
    let part = try tilecut(
      "cut", source, "-o", bundle, "--zoom", "6-11", "--format", "jpeg", "--bounds", "-105.95,40.2,-105.6,40.5")
    #expect(part.status == 0, "\(part)")
    let query = "SELECT zoom_level || '/' || tile_column || '/' || tile_row, hex(tile_data) FROM tiles"
    func stored() throws -> [String: String] {
      Dictionary(uniqueKeysWithValues: try SQLiteFile.rows(bundle, query).map { ($0[0], $0[1]) })
    }
    let (before, file) = (try stored(), try folder.bytes("part.mbtiles"))
    let words = ["cut", source, "--append", bundle]
    let run = try Command(built: "tilecut").run(words + ["--dry-run", "--json"])
    let report = try #require(try JSONSerialization.jsonObject(with: Data(run.stdout.utf8)) as? [String: Any], "\(run)")
    let guess = try #require(report["addition"] as? [String: Double])
    #expect(report["estimate"] == nil && folder.names == ["part.mbtiles"])
    #expect(try folder.bytes("part.mbtiles") == file)
    let text = try Command(built: "tilecut").run(words + ["--dry-run"]).stdout
    #expect(text.contains("  about \(Int(guess["tiles"] ?? 0)) tiles, \(Int(guess["newTiles"] ?? 0)) of them new, "))

    #expect(try Command(built: "tilecut").run(words).status == 0)
    let after = try stored()
    let changed = Double(after.count { before[$0.key] != $0.value })
    let new = Double(after.count - before.count)
    func bytes(_ tiles: [String: String]) -> Double { Double(tiles.values.reduce(0) { $0 + $1.utf8.count }) / 2 }
    for (name, actual) in [("tiles", changed), ("newTiles", new), ("bytes", bytes(after) - bytes(before))] {
      let guessed = try #require(guess[name])
      #expect(guessed > 0 && max(guessed / actual, actual / guessed) < 1.2, "\(name): \(guessed), \(actual)")
    }
  }

  /// Who asks what a map would cost need not name it.
  @Test func withoutAnOutputItIsThatOfMBTiles() throws {
    let words = [try folder.writePlacedPicture(), "--zoom", "2-4"]
    let before = folder.names
    let guess = try estimate(words)
    let named = try estimate(words + ["-o", folder.file("a.mbtiles")])
    #expect(guess.bytes == named.bytes && guess.tiles == named.tiles)
    #expect(folder.names == before)
  }
}
