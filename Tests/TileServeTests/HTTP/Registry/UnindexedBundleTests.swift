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
}
