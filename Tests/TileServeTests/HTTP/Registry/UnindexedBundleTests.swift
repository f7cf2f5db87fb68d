import CSQLite
import TestSupport
import Testing
import TileIndex

@testable import TileServe

/// A bundle without an index of its tiles is served slowly, and not without a word.
@Suite(.ownThread) struct UnindexedBundleTests {
  @Test func theOperatorIsToldOnceWithTheRemedy() async throws {
    let folder = try TemporaryFolder()
    try folder.writeBundle("whole.mbtiles", zooms: 0...1)
    let whole = try MBTilesReader(path: folder.file("whole.mbtiles"))
    var handle: OpaquePointer?
    defer { sqlite3_close_v2(handle) }
    try #require(sqlite3_open(folder.file("a.mbtiles"), &handle) == SQLITE_OK)
    let sql = """
      ATTACH '\(folder.file("whole.mbtiles"))' AS whole; CREATE TABLE metadata AS SELECT * FROM whole.metadata;
      CREATE TABLE tiles AS SELECT * FROM whole.tiles; DETACH whole
      """
    try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
    try await serving([folder.path]) {
      $0.repairCommand = { warning in warning.repair == .convert ? "copy \(Folder.name(warning.path ?? ""))" : nil }
    } _: { served in
      for tile in [TileID(unchecked: 0, 0, 0), TileID(unchecked: 1, 1, 1)] {
        let response = try served.get("/a/\(tile.zoom)/\(tile.column)/\(tile.row).png")
        #expect(try response.status == 200 && Array(response.body) == whole.tile(tile), "\(response)")
      }
      let list = try served.get("/tilesets.json").text
      let warning =
        "a.mbtiles has no index of its tiles, so that each request reads the whole table; make an indexed copy: "
        + "copy a.mbtiles"
      #expect(list.contains(#""warnings":["\#(warning)"]"#), "\(list)")
      #expect(list.split(separator: #""warnings""#).count == 2 && list.contains(#""unavailable":[]"#), "\(list)")
      _ = try served.get("/whole/0/0/0.png")
      let (slow, quick) = try (#require(served.registry["a"]), #require(served.registry["whole"]))
      #expect(slow.takeWarnings().count == 1 && slow.takeWarnings().isEmpty && quick.takeWarnings().isEmpty)
    }
  }

  /// Mirrored tiles, or bounds of another map: containers whose rows have one reading are served as they are.
  @Test(arguments: ["a.pmtiles", "a.gpkg"]) func tilesFarFromTheBoundsAreSaid(name: String) async throws {
    let folder = try TemporaryFolder()
    let writer = try BundleFile.create(folder.file(name), matrixSet: .webMercatorQuad, format: .png)
    try writer.put(TileID(unchecked: 4, 8, 10), try SampleTiles.image(1))
    _ = try writer.finish(
      .rows([
        .init(name: "name", value: "a"), .init(name: "format", value: "png"),
        .init(name: "bounds", value: "1,42,22,55"),
      ]))
    try await serving([folder.path]) { served in
      #expect(try served.get("/a/4/8/10.png").status == 200)
      let list = try served.get("/tilesets.json").text
      #expect(list.contains("\(name) its tiles lie outside the bounds that it states"), "\(list)")
    }
  }

  /// A scan of a large table takes more steps than any query of a small file may: its bundle is slow, and never put
  /// into quarantine.
  @Test(.long) func aLargeTableMayBeScannedForEachTile() async throws {
    let (folder, rowCount, height) = (try TemporaryFolder(), 8_300_000, 1 << 23)
    var handle: OpaquePointer?
    defer { sqlite3_close_v2(handle) }
    try #require(sqlite3_open(folder.file("a.mbtiles"), &handle) == SQLITE_OK)
    let sql = """
      PRAGMA journal_mode = OFF; CREATE TABLE metadata (name TEXT, value TEXT);
      INSERT INTO metadata VALUES ('name', 'a'), ('format', 'png'), ('minzoom', '23'), ('maxzoom', '23');
      CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(rowCount - 1))
      INSERT INTO tiles SELECT 23, 0, i, x'89504e470d0a1a0a' FROM n;
      """
    try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
    #expect(try stepsOfScan(handle, row: height - 1) > 50_000_000, "a small file may cost as much")
    try await serving([folder.path]) { (served) async throws in
      // More than the costly look-ups after which a bundle is not asked any more; of the last row, and of none.
      for _ in 0..<4 { #expect(try served.get("/a/23/0/0.png").status == 404) }
      #expect(try served.get("/a/23/0/\(height - rowCount).png").status == 200)
      #expect(try #require(served.registry["a"]).source.quarantine == nil)
      let list = try served.get("/tilesets.json").text
      #expect(list.contains("a.mbtiles has no index of its tiles") && list.contains(#""unavailable":[]"#), "\(list)")
    }
  }

  /// The steps that SQLite takes to look for a row.
  private func stepsOfScan(_ handle: OpaquePointer?, row: Int) throws -> Int32 {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    let sql = "SELECT tile_data FROM tiles WHERE zoom_level = 23 AND tile_column = 0 AND tile_row = \(row)"
    try #require(sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK)
    #expect(sqlite3_step(statement) == SQLITE_DONE)
    return sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0)
  }
}
