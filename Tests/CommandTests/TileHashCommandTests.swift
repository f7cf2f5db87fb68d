import TestSupport
import Testing
import TileIndex

/// `--tile-hashes` of `cut`, `convert`, `extract`, `merge` and `cut --append`.
@Suite(.ownThread) struct TileHashCommandTests {
  let folder: TemporaryFolder
  let raster: String
  let map: String

  init() throws {
    folder = try TemporaryFolder()
    raster = try folder.writePlacedPicture()
    map = folder.file("map.mbtiles")
    let run = try tilecut("cut", raster, "-o", map, "--zoom", "0-3", "--tile-hashes")
    #expect(run.status == 0, "\(run)")
  }

  private func hasHashes(_ path: String) throws -> Bool { try BundleFile.open(path).storesTileHashes }

  /// After the image's end, where no decoder looks.
  private func damage(_ path: String) throws {
    try SQLiteFile.execute(path, "UPDATE images SET tile_data = CAST(tile_data || '~' AS BLOB) WHERE tile_id = 1")
  }

  @Test func outputsHaveThemWhereTheyAreAskedFor() throws {
    #expect(try hasHashes(map))
    let output = folder.file("b.mbtiles")
    for words in [["extract", map, "-o", output], ["merge", map, "-o", output], ["convert", map, output]] {
      for option in [[], ["--tile-hashes"]] {
        let run = try Command(built: "tilecut").run(words + ["--force"] + option)
        #expect(run.status == 0, "\(run)")
        #expect(try hasHashes(output) == !option.isEmpty, "\(words)")
        try expectValid(output)
      }
    }
  }

  @Test(arguments: ["b.pmtiles", "b.gpkg", "b/"]) func otherContainersRefuseThem(_ name: String) throws {
    let output = folder.file(name)
    for words in [["cut", raster, "-o", output], ["convert", map, output], ["merge", map, "-o", output]] {
      expectRefusal(
        try Command(built: "tilecut").run(words + ["--tile-hashes"]), status: 65, naming: "hashes of tiles")
    }
    #expect(BundleFile.kind(output) == nil)
  }

  @Test func damagedTilesAreNamedAndNotCopied() throws {
    try damage(map)
    let run = try tilecut("verify", map)
    #expect(run.status == 1 && run.stdout.contains("its bytes are not those that were written"), "\(run)")
    expectRefusal(try tilecut("convert", map, folder.file("b.mbtiles")), status: 65, naming: map)
    expectRefusal(
      try tilecut("cut", raster, "--append", map, "-o", folder.file("b.mbtiles")), status: 65, naming: map)
    #expect(BundleFile.kind(folder.file("b.mbtiles")) == nil)
  }

  @Test func additionsKeepThem() throws {
    let run = try tilecut("cut", raster, "--append", map)
    #expect(run.status == 0, "\(run)")
    #expect(try hasHashes(map))
    try expectValid(map)
  }
}
