import CSQLite
import TestSupport
import Testing
import TileIndex

@testable import TileServe

/// Bundles and folders that could block, exhaust or mislead the server.
@Suite(.ownThread) struct HostileBundleTests {
  /// A bundle whose tiles are the given view.
  private func writeView(_ path: String, _ sql: String) throws {
    var handle: OpaquePointer?
    defer { sqlite3_close_v2(handle) }
    try #require(sqlite3_open(path, &handle) == SQLITE_OK)
    try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
  }

  /// A query that counts to a hundred million must not run on an event loop.
  @Test func expensiveViewsAreNotReadOnEventLoops() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("slow.mbtiles")
    try writeView(
      path,
      """
      CREATE TABLE metadata (name TEXT, value TEXT);
      CREATE VIEW tiles AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000)
      SELECT i - i AS zoom_level, i - i AS tile_column, i - i AS tile_row, x'89504e470d0a1a0a' AS tile_data
      FROM n WHERE i % 99999999 = 99999998;
      """)
    let bundle = try MBTilesReader(path: path)
    let start = ContinuousClock.now
    let read = try bundle.withResidentTile(TileID(zoom: 0, column: 0, row: 0)) { $0.count }
    #expect(read == .wouldWait)
    #expect(ContinuousClock.now - start < .seconds(5))
  }

  @Test func endlessMetadataAreRefused() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("endless.mbtiles")
    try writeView(
      path,
      """
      CREATE VIEW metadata AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)
      SELECT 'name' || i AS name, 'value' AS value FROM n;
      CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
      """)
    let error = #expect(throws: BundleError.self) { try MBTilesReader(path: path) }
    #expect(
      error?.code == .malformed && error?.message.contains("more than 1000 rows") == true,
      "\(String(describing: error))")
  }

  @Test func currentFolderHasAName() throws {
    let folder = try TemporaryFolder()
    _ = try folder.writeBundle("map.mbtiles")
    #expect(Folder.name("\(folder.path)/.") == Folder.name(folder.path))
  }

  /// A closed registry refuses or answers; its callers never hang.
  @Test func readsAfterCloseReturn() async throws {
    let folder = try TemporaryFolder()
    _ = try folder.writeBundle("map.mbtiles")
    let registry = try TilesetRegistry([folder.path])
    await registry.close()
    #expect(try await registry.tile(TileID(zoom: 0, column: 0, row: 0), of: "map") != nil)
  }
}
