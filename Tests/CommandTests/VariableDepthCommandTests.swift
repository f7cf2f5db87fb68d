import Foundation
import TestSupport
import Testing

/// `tilecut cut --variable-depth`: a coarse map of 10 to 20 degrees east and 40 to 50 north, and a fine inset of a
/// tenth of that.
@Suite(.ownThread) struct VariableDepthCommandTests {
  let folder: TemporaryFolder
  private static let coarse = (west: 10.0, south: 40.0, east: 20.0, north: 50.0)

  init() throws {
    folder = try TemporaryFolder()
    _ = try folder.writePlacedPicture("coarse.png", edge: 256)
    _ = try folder.writePicture("fine.png", width: 2048, height: 2048)
    try folder.write("fine.pgw", "0.0005\n0\n0\n-0.0005\n14.00025\n45.99975\n")
    try folder.write("fine.prj", "EPSG:4326")
  }

  private func cut(_ options: String...) -> DividedCut {
    DividedCut(
      folder: folder, words: ["coarse.png", "fine.png", "--variable-depth", "--format", "jpeg"] + options)
  }

  /// The coarse map has pixels of zoom 5 and the inset of zoom 11, so between them only tiles around the inset.
  @Test func everyAreaEndsAtItsOwnZoom() throws {
    _ = try cut().whole("out.mbtiles")
    let path = folder.file("out.mbtiles")
    let tiles = try SQLiteFile.tiles(path)
    let (west, south, east, north) = Self.coarse
    let shallow = mercatorTiles(west: west, south: south, east: east, north: north, 0...5)
    #expect(tiles.filter { Int($0.prefix { $0 != "/" })! <= 5 } == shallow)
    // Each zoom has the tiles of the inset, and those beside them under the same parents.
    let fine = mercatorTiles(west: 14, south: 44.976, east: 15.024, north: 46, 6...11)
    #expect(tiles.isSuperset(of: fine) && tiles.count < shallow.count + 2 * fine.count)
    let metadata = try SQLiteFile.metadata(path)
    #expect(metadata["minzoom"] == "0" && metadata["maxzoom"] == "11" && metadata["variable_depth"] == "5-11")
    try expectValid(path)
    // An uncovered overview is still an error of other bundles.
    try SQLiteFile.execute(path, "DELETE FROM metadata WHERE name = 'variable_depth'")
    let verify = try tilecut("verify", path)
    #expect(verify.status != 0 && verify.stdout.contains("bounds reach"), "\(verify)")
  }

  @Test func oneAndTwoThreadsMakeTheSameBytes() throws {
    #expect(try cut("--threads", "1").whole("one.mbtiles") == cut("--threads", "2").whole("two.mbtiles"))
  }

  /// A hundred tiles of each source, compressed so hard that the cut is killed in the middle.
  @Test func killedCutsEndTheSame() throws {
    _ = try folder.writePlacedPicture("coarse.png", edge: 2048)
    let words = ["coarse.png", "fine.png", "--effort", "small", "--resampling", "lanczos", "--threads", "1"]
    let cut = DividedCut(folder: folder, words: words + ["--variable-depth"])
    let whole = try cut.whole()
    try cut.kill()
    expectRefusal(
      try cut.run(["cut"] + words + ["-o", "killed.mbtiles", "--resume"]), status: 64,
      naming: "--variable-depth was given, and now it is not given")
    #expect(try cut.continued() == whole)
  }

  @Test(arguments: ["mbtiles", "pmtiles"]) func shardsGiveTheUndividedCut(_ kind: String) throws {
    let cut = cut()
    let count = try cut.plan(shardTiles: 10)
    #expect(count > 1)
    #expect(try cut.merged(count, "out.\(kind)") == cut.whole("whole.\(kind)"))
    let tileset = try cut.run(["merge", "--plan", "plan.json", "-o", "out.tileset"])
    #expect(tileset.status == 0, "\(tileset)")
    #expect(try cut.run(["verify", "out.tileset"]).status == 0)
  }

  @Test func aDryRunCountsTheTiles() throws {
    let words = cut().words
    let run = try cut().run(["cut"] + words + ["--dry-run", "--json"])
    let report = try #require(try JSONSerialization.jsonObject(with: Data(run.stdout.utf8)) as? [String: Any], "\(run)")
    let estimate = try #require(report["estimate"] as? [String: Any])
    _ = try cut().whole("out.mbtiles")
    let tiles = try SQLiteFile.tiles(folder.file("out.mbtiles")).count
    #expect(report["tilesMax"] as? Int == tiles)
    let guess = try #require(estimate["tiles"] as? Int)
    #expect(guess * 10 > tiles * 8 && guess * 8 < tiles * 10, "\(guess), \(tiles)")
    let bytes = try #require(estimate["bytes"] as? Int)
    let size = try folder.bytes("out.mbtiles").count
    #expect(bytes * 10 > size * 7 && bytes * 7 < size * 10, "\(bytes), \(size)")
    #expect(try cut().run(["cut"] + words + ["--dry-run"]).stdout.contains("  areas end at zoom 5 to 11"))
  }

  /// The warning of a mixed cut names its remedy.
  @Test func mixedDetailIsWarnedOfAndAppendingIsRefused() throws {
    let plain = try cut().run(["cut", "coarse.png", "fine.png", "--dry-run"])
    #expect(plain.stderr.contains("coarse.png: ") && plain.stderr.contains("add --variable-depth"), "\(plain)")
    #expect(try cut().run(["cut", "coarse.png", "fine.png", "--variable-depth", "--dry-run"]).stderr == "")
    _ = try cut().whole("out.mbtiles")
    expectRefusal(
      try cut().run(["cut", "fine.png", "--append", "out.mbtiles"]), status: 64, naming: "end at different zooms, 5-11")
    expectRefusal(
      try cut().run(["cut", "fine.png", "--variable-depth", "--append", "out.mbtiles"]), status: 64,
      naming: "leave --variable-depth out")
  }

  /// A manifest says it too; its folder's page shows coarser tiles where an area ends.
  @Test func manifestsHaveVariableDepth() throws {
    func manifest(_ more: String) throws -> String {
      try folder.write(
        "regions.json",
        #"""
        {"regions": [{"id": "a", "title": "A", "category": "c", "format": "jpeg", "variableDepth": true, \#(more)}]}
        """#)
    }
    let run = try tilecut("cut", try manifest(#""sources": ["coarse.png", "fine.png"]"#), "-o", folder.file("out/"))
    #expect(run.status == 0, "\(run)")
    let page = String(decoding: try folder.bytes("out/index.html"), as: UTF8.self)
    #expect(page.contains(#""ends":5"#))
    let drawn = #""layers": [{"type": "raster", "sources": ["coarse.png"]}, {"type": "graticule"}]"#
    expectRefusal(
      try tilecut("cut", try manifest(drawn), "-o", folder.file("lines.mbtiles")), status: 65,
      naming: "regions[0].variableDepth does not go with lines and labels")
  }
}
