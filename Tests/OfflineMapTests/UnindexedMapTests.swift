import OfflineMap
import Support
import TestSupport
import Testing
import TileIndex

/// A bundle whose maker left the index out is indexed once, at opening, and the app is told.
@Suite(.ownThread) struct UnindexedMapTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private let tiles = TileMatrixSet.webMercatorQuad.wholeRange(zoom: 3)

  private func write(isIndexed: Bool) throws -> String {
    let path = folder.file(isIndexed ? "indexed.mbtiles" : "plain.mbtiles")
    let connection = try SQLiteConnection(creating: path)
    try connection.execute(
      """
      CREATE TABLE metadata (name TEXT, value TEXT); INSERT INTO metadata VALUES ('name', 'map');
      CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 63)
      INSERT INTO tiles SELECT 3, i % 8, 7 - i / 8, CAST(X'89504E470D0A1A0A' || printf('%02d', i) AS BLOB) FROM n;
      \(isIndexed ? "CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);" : "")
      """)
    try connection.close()
    return path
  }

  @Test(arguments: [true, false]) func tilesAreFound(isIndexed: Bool) async throws {
    let map = try MapBundle(path: write(isIndexed: isIndexed))
    #expect(map.warnings.map(\.code) == (isIndexed ? [] : [.notIndexed]))
    #expect(map.warnings.allSatisfy { $0.remedy != nil && $0.repair == .convert && $0.path == map.path })
    try await withThrowingTaskGroup(of: Void.self) { group in
      for tile in tiles {
        group.addTask {
          let bytes = try await map.tile(tile)
          #expect(bytes?.suffix(2) == Array(String(tile.row * 8 + tile.column + 100).utf8).suffix(2), "\(tile)")
        }
      }
      try await group.waitForAll()
    }
    #expect(try await map.tiles(at: 0.1, 0.1).count == 1)
  }

  /// Rows without end: opening ends with an error, before a map waits for a tile.
  @Test(arguments: [
    ("tiles", "SELECT 4 AS zoom_level, i % 16 AS tile_column, i / 16 AS tile_row, x'89504e470d0a1a0a' AS tile_data"),
    ("tiles", "SELECT i AS zoom_level, 0 AS tile_column, 0 AS tile_row, x'89504e470d0a1a0a' AS tile_data"),
    ("metadata", "SELECT 'name' || i AS name, 'value' AS value"),
  ]) func endlessViewsAreRefused(table: String, rows: String) throws {
    let path = try write(isIndexed: true)
    let connection = try SQLiteConnection(creating: path)
    try connection.execute(
      """
      DROP TABLE \(table);
      CREATE VIEW \(table) AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) \(rows) FROM n
      """)
    try connection.close()
    let error = #expect(throws: BundleError.self) { try MapBundle(path: path) }
    #expect(error.map { [.tooCostly, .malformed].contains($0.code) } == true, "\(error?.description ?? "")")
    #expect(error?.path == path && error?.remedy != nil, "\(error?.description ?? "")")
  }
}
