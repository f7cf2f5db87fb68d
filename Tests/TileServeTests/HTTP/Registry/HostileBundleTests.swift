import CSQLite
import Foundation
import Support
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

  /// A view whose rows have no end: it is asked three times, and again when it is another file.
  @Test func bundleThatCostsTooMuchIsAskedThreeTimes() async throws {
    let folder = try TemporaryFolder()
    _ = try folder.writeBundle("good.mbtiles")
    let bad = folder.file("bad.mbtiles")
    try writeView(
      bad,
      """
      CREATE TABLE metadata (name TEXT, value TEXT);
      INSERT INTO metadata VALUES ('format', 'png'), ('minzoom', '0'), ('maxzoom', '0');
      CREATE VIEW tiles AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)
      SELECT i + 1 AS zoom_level, 0 AS tile_column, 0 AS tile_row, x'89504e470d0a1a0a' AS tile_data FROM n;
      """)
    func unavailable(_ list: HTTPResponse) throws -> String? {
      let all = try JSONValue(parsing: list.body)["unavailable"]?.array ?? []
      return all.first { $0["id"]?.string == "bad" }?["reason"]?.string
    }
    try await serving([folder.path]) {
      $0.refreshSeconds = 1
    } _: { (served) async throws in
      let isQuarantined = try eventually(seconds: 120) {
        let statuses = try ["/bad/0/0/0.png", "/good.json", "/good/0/0/0.png", "/"].map { try served.get($0).status }
        guard statuses == [503, 200, 200, 200] else { return false }
        return try unavailable(try served.get("/tilesets.json"))?.contains("is not asked any more") == true
      }
      #expect(isQuarantined)
      let answer = try served.get("/bad/0/0/0.png")
      #expect(answer.status == 503 && answer.text.contains("is not asked any more"), "\(answer)")
      #expect(answer["Retry-After"] != nil)
      // Another file under the name.
      _ = try folder.writeBundle("new.mbtiles")
      #expect(rename(folder.file("new.mbtiles"), bad) == 0)
      #expect(try eventually(seconds: 60) { try served.get("/bad/0/0/0.png").status == 200 })
      #expect(try unavailable(try served.get("/tilesets.json")) == nil)
    }
  }

  /// Pages of what is known wait for no bundle whose threads are busy.
  @Test func listsWaitForNoBundle() async throws {
    let folder = try TemporaryFolder()
    for name in ["busy", "other"] { _ = try folder.writeBundle("\(name).mbtiles") }
    try await serving([folder.path]) { (served) async throws in
      let tileset = try #require(served.registry["busy"])
      #expect(try served.get("/busy.json").status == 200)
      let gate = Gate()
      defer { gate.open() }
      for _ in 0..<WorkPool.laneWidth { #expect(served.registry.work.submit(tileset.lane) { gate.wait() }) }
      for path in ["/", "/tilesets.json", "/busy.json", "/busy/", "/busy/WMTSCapabilities.xml", "/tms/1.0.0/busy"] {
        #expect(try served.get(path).status == 200, "\(path)")
      }
      #expect(try served.get("/other/0/0/0.png").status == 200)
    }
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
