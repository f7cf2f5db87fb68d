import Foundation
import Support
import TestSupport
import Testing

@testable import TileIndex

/// Statements that make a bundle, with a short name for messages.
private struct Schema: CustomTestStringConvertible, Sendable {
  let name: String
  let sql: String
  var testDescription: String { name }

  init(_ name: String, _ sql: String) { (self.name, self.sql) = (name, sql) }
}

/// Bundles whose makers left the index out, and so many rows that SQLite needs temporary files. Work
/// that is quadratic takes many minutes here.
@Suite(.ownThread) struct MissingIndexTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let count = 60_000
  private static let columns = "zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER"

  /// One tile a row of zoom 12, in no order.
  private static let rows = """
    WITH RECURSIVE numbers(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i < \(count - 1)), \
    keys AS (SELECT i * 7919 % \(count) AS k FROM numbers) \
    SELECT 12, k % 2048, 4095 - k / 2048, CAST(X'89504E470D0A1A0A' || printf('%06d', k) AS BLOB) FROM keys
    """

  private static let flat = "CREATE TABLE tiles (\(columns), tile_data BLOB); INSERT INTO tiles \(rows);"
  private static let index = "CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);"
  private static let textIDs = """
    CREATE TABLE map (\(columns), tile_id TEXT); CREATE TABLE images (tile_data BLOB, tile_id TEXT);
    CREATE TABLE source (\(columns), tile_data BLOB); INSERT INTO source \(rows);
    INSERT INTO images SELECT tile_data, 'md5-' || hex(tile_data) FROM source;
    INSERT INTO map SELECT zoom_level, tile_column, tile_row, 'md5-' || hex(tile_data) FROM source; DROP TABLE source;
    CREATE VIEW tiles AS SELECT zoom_level, tile_column, tile_row, tile_data FROM map JOIN images USING (tile_id);
    """
  private static let textIndexes = """
    CREATE UNIQUE INDEX map_index ON map (zoom_level, tile_column, tile_row);
    CREATE UNIQUE INDEX images_id ON images (tile_id);
    """

  /// SQLite writes nothing for an update that leaves a row's bytes as they are.
  private static let otherMetadata = "INSERT INTO metadata VALUES ('edition', '2')"

  @discardableResult
  private func bundle(_ name: String, _ sql: String) throws -> String {
    try Database(folder.file(name)).run("BEGIN; \(ForeignBundle.metadata) \(sql) COMMIT")
    return folder.file(name)
  }

  /// A view that gives far more bytes than its file has is what is wrong, not the disk.
  @Test func theLimitOfATemporaryIndexIsNoFullDisk() throws {
    let path = try bundle(
      "view.mbtiles",
      """
      CREATE TABLE one (bytes BLOB); INSERT INTO one VALUES (zeroblob(20000));
      CREATE VIEW tiles AS WITH RECURSIVE numbers(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i < 4095)
        SELECT 12 AS zoom_level, i AS tile_column, 7 AS tile_row, bytes AS tile_data FROM numbers, one;
      """)
    let reader = try MBTilesReader(path: path)
    let error = #expect(throws: BundleError.self) { try reader.prepareLookups() }
    #expect(error?.code == .tooCostly && error?.message.contains("takes more than 64 MB") == true, "\(error as Any)")
    #expect(error?.remedy?.contains("TMPDIR") == false)
  }

  @Test(
    arguments: [
      Schema("flat", flat), Schema("text ids", textIDs + textIndexes), Schema("text ids without indexes", textIDs),
    ])
  fileprivate func manyRowsAreInspectedAndVerified(schema: Schema) throws {
    let path = try bundle("a.mbtiles", schema.sql)
    #expect(try BundleInspection(BundleFile.open(path)).tiles == Self.count)
    let report = try BundleVerifier(path: path) { _, _ in nil }.verify()
    #expect(!report.outcomes.isEmpty)
    #expect(folder.names == ["a.mbtiles"])
  }

  /// The same bytes as from a bundle with the index, with about the same work.
  @Test func bundlesAreConvertedMergedAndCompared() throws {
    let (slow, quick) = (try bundle("slow.mbtiles", Self.flat), try bundle("quick.mbtiles", Self.flat + Self.index))
    let work = try [slow, quick].map { path in
      let start = ThreadClock.nanoseconds
      try BundleConvert().write(BundleFile.open(path), to: path + ".pmtiles")
      let pair = try [path, quick].map { try BundleFile.open($0) }
      try BundleMerge(conflict: .error).write(pair, to: path + ".merged.mbtiles")
      return Double(ThreadClock.nanoseconds - start)
    }
    #expect(work[0] / work[1] < 5, "\(work)")
    for name in ["pmtiles", "merged.mbtiles"] {
      #expect(try folder.bytes("slow.mbtiles.\(name)") == folder.bytes("quick.mbtiles.\(name)"), "\(name)")
    }
    let comparing = try [slow, quick].map { old in
      let start = ThreadClock.nanoseconds
      let patch = try BundlePatch.diff(old: old, new: quick, output: old + ".patch")
      #expect(patch.changedTiles == 0 && patch.removedTiles == 0)
      return Double(ThreadClock.nanoseconds - start)
    }
    #expect(comparing[0] / comparing[1] < 5, "\(comparing)")
  }

  @Test(
    arguments: [
      Schema("flat", flat), Schema("text ids", textIDs),
      Schema("images", textIDs + "CREATE INDEX map_index ON map (zoom_level, tile_column, tile_row);"),
      Schema("zooms", flat + "CREATE INDEX zooms ON tiles (zoom_level);"),
      Schema(
        "view",
        flat.replacingOccurrences(of: "tiles", with: "other") + "CREATE VIEW tiles AS SELECT * FROM other;"),
    ])
  fileprivate func eachTileIsFoundByATemporaryIndex(schema: Schema) throws {
    let reader = try MBTilesReader(path: bundle("a.mbtiles", schema.sql))
    #expect(reader.scansForTiles)
    // An event loop asks for a tile only where that takes no scan.
    #expect(try reader.withResidentTile(TileID(unchecked: 12, 0, 0)) { $0.count } == .wouldWait)
    #expect(try reader.tileFormat() == .png)
    try reader.prepareLookups()
    #expect(!reader.scansForTiles)
    for key in stride(from: 0, to: Self.count, by: 7) {
      let tile = try reader.tile(TileID(unchecked: 12, key % 2048, key / 2048))
      #expect(tile.map { String(decoding: $0.suffix(6), as: UTF8.self) } == String(format: "%06d", key))
    }
    #expect(try reader.tile(TileID(unchecked: 12, 0, 4095)) == nil && reader.tileCount() == Self.count)
    #expect(folder.names == ["a.mbtiles"])
  }

  /// Small bundles of each maker, before and after.
  @Test(arguments: [
    Schema("flat", ForeignBundle.flat(index: false)), Schema("without rowid", ForeignBundle.withoutRowid),
    Schema("text ids", ForeignBundle.textIDs), Schema("view", ForeignBundle.otherView),
    Schema(
      "other rows",
      ForeignBundle.flat(index: false) + "INSERT INTO tiles VALUES (NULL, 0, 0, X'00'), ('a', 0, 0, X'00');"),
  ]) fileprivate func readersWithATemporaryIndexReadTheSame(schema: Schema) throws {
    try Database(folder.file("a.mbtiles")).run(schema.sql)
    let (before, after) = try (
      MBTilesReader(path: folder.file("a.mbtiles")), MBTilesReader(path: folder.file("a.mbtiles"))
    )
    try after.prepareLookups()
    #expect(try TilesHash.of(after) == TilesHash.of(before))
    #expect(try after.zooms() == before.zooms())
    for (tile, bytes) in ForeignBundle.tiles { #expect(try after.tile(tile) == bytes) }
    for zoom in 0...2 { #expect(try after.range(zoom: zoom) == before.range(zoom: zoom)) }
  }

  /// A bundle that another program has open with a log, or is about to write: its index is of one state.
  @Test(arguments: [true, false]) func indexesBelongToOneState(usesLog: Bool) throws {
    let path = try bundle("a.mbtiles", Self.flat)
    let writer = try Database(path)
    try writer.run(usesLog ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE")
    // A journal or a log; the tiles stay as they are.
    try writer.run("BEGIN IMMEDIATE; \(Self.otherMetadata); \(usesLog ? "COMMIT" : "")")
    let reader = try MBTilesReader(path: path)
    let tile = TileID(unchecked: 12, 3, 0)
    let before = try reader.tile(tile)
    #expect(before != nil && reader.scansForTiles)
    try reader.prepareLookups()
    #expect(!reader.scansForTiles)
    #expect(try reader.tile(tile) == before)
    if !usesLog { try writer.run("COMMIT") } else { try writer.run("DELETE FROM tiles WHERE tile_column = 3") }
    let error = #expect(throws: BundleError.self) { try reader.tile(tile) }
    #expect(error?.code == .changed)
  }

  /// The index is made in the transaction of the copy, and ends with it.
  @Test func bundlesWithALogAreConverted() throws {
    let path = try bundle("a.mbtiles", Self.flat)
    let writer = try SQLiteConnection(creating: path)
    try writer.execute("PRAGMA journal_mode = WAL; \(Self.otherMetadata)")
    let reader = try BundleFile.open(path)
    try BundleConvert().write(reader, to: folder.file("b.pmtiles"))
    #expect(try BundleInspection(BundleFile.open(folder.file("b.pmtiles"))).tiles == Self.count)
    let error = #expect(throws: BundleError.self) { try reader.tile(TileID(unchecked: 12, 3, 0)) }
    #expect(error?.code == .changed)
    try writer.close()
  }

  /// A tileset passes it on to the bundles of its shards, also to those that are open.
  @Test func shardsAreIndexed() throws {
    try bundle("shard.mbtiles", Self.flat)
    try folder.write(
      "a.tileset",
      String(decoding: ShardedTileset.magic, as: UTF8.self)
        + #""shardZoom":0,"shards":[{"root":"0/0/0","file":"shard.mbtiles"}],"metadata":{},"#
        + #""levels":[{"zoom":12,"columns":[0,2047],"rows":[0,29]}]}"#)
    let reader = try ShardedReader(path: folder.file("a.tileset"))
    let tile = TileID(unchecked: 12, 3, 0)
    let before = try reader.tile(tile)
    func areScanned() throws -> Bool {
      // No look-up of an event loop scans a table.
      if case .wouldWait = try reader.withResidentTile(tile, { _ in true }) { true } else { false }
    }
    #expect(try before != nil && areScanned())
    try reader.prepareLookups()
    #expect(try reader.tile(tile) == before)
    #expect(try !areScanned())
  }

  @Test func tilesThatAreThereTwiceAreFoundAsBefore() throws {
    let twice = "INSERT INTO tiles SELECT * FROM tiles WHERE zoom_level = 2;"
    try Database(folder.file("a.mbtiles")).run(ForeignBundle.flat(index: false) + twice)
    let error = #expect(throws: BundleError.self) {
      try BundleConvert().write(BundleFile.open(folder.file("a.mbtiles")), to: folder.file("b.pmtiles"))
    }
    #expect(error?.code == .malformed)
  }

  /// GeoPackages walk column by column, each of which would be a scan.
  @Test func geoPackagesWithoutAnIndexAreRead() throws {
    try BundleConvert().write(
      BundleFile.open(bundle("a.mbtiles", Self.flat + Self.index)), to: folder.file("a.gpkg"))
    try FileManager.default.copyItem(atPath: folder.file("a.gpkg"), toPath: folder.file("b.gpkg"))
    let whole = try GeoPackageReader(path: folder.file("a.gpkg"))
    try Database(folder.file("b.gpkg")).run(
      """
      PRAGMA legacy_alter_table = ON; CREATE TABLE copy AS SELECT * FROM "\(whole.table)"; DROP TABLE "\(whole.table)";
      ALTER TABLE copy RENAME TO "\(whole.table)"
      """)
    let reader = try GeoPackageReader(path: folder.file("b.gpkg"))
    #expect(reader.scansForTiles && !whole.scansForTiles)
    #expect(try TilesHash.of(reader) == TilesHash.of(whole))
    #expect(try BundleInspection(reader).tiles == Self.count)
  }
}
