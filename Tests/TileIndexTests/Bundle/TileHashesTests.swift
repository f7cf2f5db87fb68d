import TestSupport
import Testing

@testable import TileIndex

/// The table that has a hash of each image.
@Suite(.ownThread) struct TileHashesTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let tiles = (0...4).flatMap { Array(TileMatrixSet.webMercatorQuad.wholeRange(zoom: $0)) }
  /// Tiles with equal bytes share an image.
  private static func bytes(_ tile: TileID) -> [UInt8] { Images.grey256("\((tile.column * 31 + tile.row * 7) % 50)") }

  private func write(_ name: String, hashes: Bool = true, changing: [TileID: [UInt8]] = [:]) throws -> String {
    let sink = try BundleFile.create(
      folder.file(name), matrixSet: .webMercatorQuad, format: .png, replacing: true, hashes: hashes)
    for tile in Self.tiles { try sink.put(tile, changing[tile] ?? Self.bytes(tile)) }
    _ = try sink.finish(BundleMetadata(name: "n"))
    return folder.file(name)
  }

  /// Damages the image of a tile after the image's end, where no decoder looks, and says which tiles show it.
  private func damage(_ path: String) throws -> [TileID] {
    let tile = TileID(unchecked: 4, 3, 5)
    try Database(path).run(
      """
      UPDATE images SET tile_data = CAST(substr(tile_data, 1, length(tile_data) - 1) || '~' AS BLOB) WHERE tile_id = \
      (SELECT tile_id FROM map WHERE zoom_level = 4 AND tile_column = 3 AND tile_row = \(15 - tile.row))
      """)
    return Self.tiles.filter { Self.bytes($0) == Self.bytes(tile) }
  }

  private func outcome(_ path: String, _ rule: String = "tile-hashes") throws -> VerificationReport.Outcome {
    let report = try BundleVerifier(path: path, decode: BundleVerifierTests.decode).verify()
    return try #require(report.outcomes.first { $0.rule.id == rule })
  }

  @Test func verifyNamesTheDamagedTiles() throws {
    let path = try write("a.mbtiles")
    #expect(try outcome(path).findings.isEmpty)
    let damaged = try damage(path)
    let found = try outcome(path)
    #expect(found.errors == damaged.count && found.warnings == 0)
    #expect(Set(found.findings.compactMap(\.tile)).isSubset(of: damaged.map(\.description)))
    #expect(found.findings.count == min(10, damaged.count) && found.findings.allSatisfy { $0.tile != nil })
    // Without the table that of all tiles finds it, but not where.
    let bare = try write("b.mbtiles", hashes: false)
    _ = try damage(bare)
    #expect(try outcome(bare).errors == 0)
    #expect(try outcome(bare, "tiles-hash").errors == 1)
  }

  @Test func eachImageHasOneRow() throws {
    let (path, bare) = (try write("a.mbtiles"), try write("b.mbtiles", hashes: false))
    let missing = "SELECT count(*) FROM images LEFT JOIN image_hashes USING (tile_id) WHERE length(hash) IS NOT 8"
    #expect(try Database(path).run(missing) == [["0"]])
    #expect(try Database(path).run("SELECT count(*) FROM image_hashes") == [["50"]])
    #expect(try Database(bare).run("SELECT count(*) FROM sqlite_schema WHERE name = 'image_hashes'") == [["0"]])
    #expect(try BundleFile.open(path).metadata == BundleFile.open(bare).metadata)
  }

  @Test func checkedReadsRefuseDamagedTilesAlone() throws {
    let path = try write("a.mbtiles")
    let damaged = Set(try damage(path))
    let (checked, other) = (try BundleFile.open(path, checkingTiles: true), try BundleFile.open(path))
    for tile in Self.tiles {
      #expect(try other.tile(tile) != nil)
      guard damaged.contains(tile) else {
        #expect(try checked.tile(tile) == Self.bytes(tile))
        continue
      }
      #expect { try checked.tile(tile) } throws: {
        ($0 as? BundleError)?.code == .damagedTile && "\($0)".contains("tile \(tile)")
      }
      do {
        if case .found = try checked.withResidentTile(tile, { $0.count }) { Issue.record("\(tile) was given") }
      } catch let error as BundleError {
        #expect(error.code == .damagedTile)
      }
    }
  }

  /// A copy with hashes of its own would hide the damage.
  @Test func copiesOfDamagedTilesAreRefused() throws {
    let path = try write("a.mbtiles")
    _ = try damage(path)
    let output = folder.file("out.mbtiles")
    let reader = try BundleFile.open(path)
    for copy in [
      { try BundleConvert().write(reader, to: output) }, { try BundleExtract(zooms: 4...4).write(reader, to: output) },
      { try BundleMerge().write([reader], to: output) },
    ] {
      #expect { _ = try copy() } throws: { ($0 as? BundleError)?.code == .damagedTile }
      #expect(BundleFile.kind(output) == nil)
    }
    // A whole copy gives what is damaged back, unless it is drawn over the other.
    let whole = try BundleFile.open(write("whole.mbtiles"))
    let combine = BundleMerge.Conflict.combine { _, _, upper in upper }
    #expect { _ = try BundleMerge(conflict: combine).write([whole, reader], to: output) } throws: {
      ($0 as? BundleError)?.code == .damagedTile
    }
    try BundleMerge(conflict: .first).write([whole, reader], to: output)
    #expect(try TilesHash.of(BundleFile.open(output)) == TilesHash.of(whole))
    // Others can be taken.
    try BundleExtract(zooms: 0...0).write(reader, to: output, replacing: true)
  }

  /// A tile that is drawn of several has another hash than each of them.
  @Test func overlaysOfBundlesWithHashesAreMade() throws {
    let changed = TileID(unchecked: 4, 1, 1)
    let lower = try BundleFile.open(write("lower.mbtiles"))
    let upper = try BundleFile.open(write("upper.mbtiles", changing: [changed: Images.grey256("upper")]))
    let combine = BundleMerge.Conflict.combine { _, _, _ in Images.grey256("both") }
    try BundleMerge(conflict: combine).write([lower, upper], to: folder.file("out.mbtiles"))
    #expect(try BundleFile.open(folder.file("out.mbtiles")).tile(changed) == Images.grey256("both"))
  }

  @Test func copiesHaveThemWhereTheyAreAskedFor() throws {
    let path = try write("a.mbtiles", hashes: false)
    let reader = try BundleFile.open(path)
    var (convert, extract, merge) = (BundleConvert(), BundleExtract(), BundleMerge())
    for hashes in [true, false] {
      (convert.hashes, extract.hashes, merge.hashes) = (hashes, hashes, hashes)
      try convert.write(reader, to: folder.file("c.mbtiles"), replacing: true)
      try extract.write(reader, to: folder.file("e.mbtiles"), replacing: true)
      try merge.write([reader], to: folder.file("m.mbtiles"), replacing: true)
      for name in ["c", "e", "m"] {
        #expect(try BundleFile.open(folder.file("\(name).mbtiles")).storesTileHashes == hashes)
        #expect(try outcome(folder.file("\(name).mbtiles")).findings.isEmpty)
      }
    }
  }

  @Test(arguments: ["a.pmtiles", "a.gpkg", "a/"]) func otherContainersRefuseThem(_ name: String) throws {
    let path = folder.file(name)
    #expect {
      try BundleFile.create(path, matrixSet: .webMercatorQuad, format: .png, hashes: true)
    } throws: {
      ($0 as? BundleError)?.code == .mismatch && "\($0)".contains("hashes of tiles")
    }
    #expect(BundleFile.kind(path) == nil)
  }

  @Test func changesInPlaceKeepThem() throws {
    let changed = TileID(unchecked: 4, 1, 1)
    let (old, new) = (try write("old.mbtiles"), try write("new.mbtiles", changing: [changed: Images.grey256("new")]))
    _ = try BundlePatch.diff(old: old, new: new, output: folder.file("p"))
    try BundlePatch.apply(folder.file("p"), to: old, output: old, replacing: true)
    #expect(try folder.bytes("old.mbtiles") == folder.bytes("new.mbtiles"))
    try MetadataEdit(name: "description", value: "d").apply(to: old)
    #expect(try BundleFile.open(old).storesTileHashes)
    #expect(try outcome(old).findings.isEmpty)
  }

  @Test func imagesOfOtherProgramsAreCounted() throws {
    let path = try write("a.mbtiles")
    try Database(path).run("DELETE FROM image_hashes WHERE tile_id = 1")
    let found = try outcome(path)
    #expect(found.errors == 0 && found.warnings == 1)
    #expect(try BundleFile.open(path, checkingTiles: true).tile(Self.tiles[0]) == Self.bytes(Self.tiles[0]))
  }

  /// Readers of bundles of other makers do not take any table of the name for it.
  @Test func otherTablesOfTheNameAreNone() throws {
    let path = try write("a.mbtiles", hashes: false)
    try Database(path).run("CREATE TABLE image_hashes (md5 TEXT)")
    #expect(try !BundleFile.open(path, checkingTiles: true).storesTileHashes)
    #expect(try BundleFile.open(path, checkingTiles: true).tile(Self.tiles[0]) != nil)
  }

  @Test func verifyNamesTheDamagedShard() throws {
    let grid = TileMatrixSet.webMercatorQuad
    let sink = try ShardedWriter(
      path: folder.file("a.tileset"), top: folder.file("top.mbtiles"), shardZoom: 1, matrixSet: grid, format: .png)
    for (number, root) in grid.wholeRange(zoom: 1).enumerated() {
      let part = try BundleFile.create(folder.file("\(number).mbtiles"), matrixSet: grid, format: .png)
      let tiles = Self.tiles.filter { $0.zoom >= 1 && grid.ancestor(of: $0, zoom: 1) == root }
      for tile in tiles { try part.put(tile, Self.bytes(tile)) }
      _ = try part.finish(BundleMetadata(name: "n"))
      try sink.add(BundleFile.open(folder.file("\(number).mbtiles")), root: root, tiles: tiles.count)
    }
    try sink.put(Self.tiles[0], Self.bytes(Self.tiles[0]))
    _ = try sink.finish(BundleMetadata(name: "n"))
    #expect(try outcome(folder.file("a.tileset"), "tiles-hash").findings.isEmpty)
    // Tile 4/3/5 lies below the first root.
    _ = try damage(folder.file("0.mbtiles"))
    let found = try outcome(folder.file("a.tileset"), "tiles-hash")
    #expect(found.errors == 1 && found.findings[0].message.hasPrefix("0.mbtiles: the tiles are not those"))
  }
}
