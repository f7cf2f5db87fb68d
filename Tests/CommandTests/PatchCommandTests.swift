import Foundation
import TestSupport
import Testing
import TileIndex

/// The commands `diff` and `apply`.
@Suite(.ownThread) struct PatchCommandTests {
  let folder: TemporaryFolder
  let old: String
  let new: String
  let patch: String

  init() throws {
    folder = try TemporaryFolder()
    old = try folder.writeBundle("old.mbtiles", zooms: 0...3, seed: 1)
    new = try folder.writeBundle("new.mbtiles", zooms: 0...3, seed: 1, without: [TileID(zoom: 3, column: 2, row: 1)])
    patch = folder.file("map.patch")
  }

  @Test func applyingAPatchGivesTheNewFile() throws {
    let made = try tilecut("diff", old, new, "-o", patch)
    #expect(made.status == 0 && made.stdout.contains("0 new or changed tiles, 1 removed"), "\(made)")
    #expect(made.stdout.contains("byte for byte"), "\(made)")
    let applied = try tilecut("apply", patch, old, "-o", folder.file("applied.mbtiles"))
    #expect(applied.status == 0, "\(applied)")
    #expect(try folder.bytes("applied.mbtiles") == folder.bytes("new.mbtiles"))
    try expectValid(folder.file("applied.mbtiles"))
    // In place.
    #expect(try tilecut("apply", patch, old, "-o", old, "--force").status == 0)
    #expect(try folder.bytes("old.mbtiles") == folder.bytes("new.mbtiles"))
  }

  @Test func jsonOutputHasTheFactsOfThePlainText() throws {
    let made = try tilecut("diff", old, new, "-o", patch, "--json")
    let summary = try JSONDecoder().decode(BundlePatch.Summary.self, from: Data(made.stdout.utf8))
    #expect(summary.removedTiles == 1 && summary.resultSHA256 != nil)
    #expect(summary.patchBytes == (try folder.bytes("map.patch").count))
  }

  @Test func rowsThatAreNoTilesAreSaid() throws {
    let foreign = folder.file("foreign.mbtiles")
    try SQLiteFile.execute(
      foreign,
      """
      ATTACH '\(old)' AS source; CREATE TABLE metadata AS SELECT * FROM source.metadata WHERE name != 'tiles_hash';
      CREATE TABLE tiles AS SELECT * FROM source.tiles; INSERT INTO tiles VALUES (3, 1.5, 2, X'01'), (2, 9, 9, X'01');
      """)
    let run = try tilecut("diff", foreign, new, "-o", patch)
    #expect(run.status == 0 && run.stderr.contains("2 rows of the tables of tiles are left out"), "\(run)")
  }

  @Test func patchOfAnotherBundleIsRefusedAndLeavesNothing() throws {
    #expect(try tilecut("diff", old, new, "-o", patch).status == 0)
    let names = folder.names
    let output = folder.file("out.mbtiles")
    expectRefusal(try tilecut("apply", patch, new, "-o", output), status: 65, naming: new, "already has the tiles")
    expectRefusal(try tilecut("apply", old, patch, "-o", output), status: 65, naming: old, "name the patch first")
    expectRefusal(try tilecut("apply", folder.file("no.patch"), old, "-o", output), status: 66, naming: "no.patch")
    expectRefusal(try tilecut("apply", patch, old, "-o", new), status: 73, naming: new)
    for name in ["out.pmtiles", "out.gpkg", "out/"] {
      expectRefusal(
        try tilecut("apply", patch, old, "-o", folder.file(name)), status: 64, naming: name,
        "which is what patches make")
    }
    expectRefusal(try tilecut("apply", patch, old, "-o", patch, "--force"), status: 64, naming: patch)
    expectRefusal(try tilecut("diff", old, new, "-o", new, "--force"), status: 64, naming: new)
    let archive = folder.file("x.zip")
    expectRefusal(try tilecut("diff", old, new, "-o", archive), status: 64, naming: archive, "name it .patch")
    let jpeg = try folder.writeBundle("jpeg.mbtiles", .jpg, zooms: 0...1)
    expectRefusal(try tilecut("diff", old, jpeg, "-o", folder.file("jpeg.patch")), status: 65, naming: jpeg, "jpg")
    #expect(folder.names == (names + ["jpeg.mbtiles"]).sorted())
  }
}
