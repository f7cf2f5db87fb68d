import TestSupport
import Testing

@testable import TileIndex

/// Bundles and patches whose tables are views with rows without end: every operation ends with an error, however fast
/// the machine is, because SQLite's steps are counted.
@Suite(.ownThread) struct EndlessRowsTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let numbers = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)"
  /// The tile of row i.
  private static let tile = "i % 16 AS tile_column, i / 16 AS tile_row, x'89504e470d0a1a0a' AS tile_data FROM n"

  /// Without end, and no row is ever found.
  private static let view = "CREATE VIEW tiles AS \(numbers) SELECT 4 AS zoom_level, \(tile) WHERE i < 0;"

  private func bundle(_ name: String) throws -> String {
    try Database(folder.file(name)).run(ForeignBundle.metadata + Self.view)
    return folder.file(name)
  }

  private func whole(_ name: String) throws -> String {
    let writer = try BundleWriter(path: folder.file(name), matrixSet: .webMercatorQuad, format: .png)
    for tile in TileMatrixSet.webMercatorQuad.wholeRange(zoom: 4) { try writer.put(tile, blob(UInt8(tile.row))) }
    _ = try writer.finish(BundleMetadata(name: "map"))
    return folder.file(name)
  }

  private func expectRefusal(_ what: String, _ body: () throws -> Void) {
    let error = #expect(throws: BundleError.self, "\(what)") { try body() }
    #expect(error.map { [.tooCostly, .malformed].contains($0.code) } == true, "\(what): \(error?.code)")
    #expect(error?.remedy != nil, "\(what)")
  }

  @Test func everyOperationEnds() throws {
    let (endless, map) = (try bundle("endless.mbtiles"), try whole("map.mbtiles"))
    expectRefusal("inspect") { _ = try BundleInspection(BundleFile.open(endless)) }
    expectRefusal("verify") { _ = try BundleVerifier(path: endless) { _, _ in nil }.verify() }
    expectRefusal("convert") { try BundleConvert().write(BundleFile.open(endless), to: folder.file("b.pmtiles")) }
    expectRefusal("merge") {
      let both = try [map, endless].map { try BundleFile.open($0) }
      try BundleMerge(conflict: .error).write(both, to: folder.file("c.mbtiles"))
    }
    expectRefusal("diff") { _ = try BundlePatch.diff(old: map, new: endless, output: folder.file("d.patch")) }
    #expect(folder.names.sorted() == ["endless.mbtiles", "map.mbtiles"])
  }

  @Test func patchesOfTablesApplyToNoView() throws {
    let (endless, map) = (try bundle("endless.mbtiles"), try whole("map.mbtiles"))
    _ = try BundlePatch.diff(old: map, new: map, output: folder.file("patch"))
    expectRefusal("apply") {
      try BundlePatch.apply(folder.file("patch"), to: endless, output: folder.file("e.mbtiles"))
    }
    #expect(!folder.names.contains("e.mbtiles"))
  }

  /// Tables of a patch that a view replaces, such as the description that is read first.
  @Test(arguments: [
    ("info", "SELECT 'name' || i AS name, 'value' AS value FROM n"),
    ("tiles", "SELECT 4 AS zoom, i AS tile_column, i AS tile_row, 0 AS image FROM n"),
    ("metadata", "SELECT 'name' || i AS name, 'value' AS value FROM n"),
  ]) func patchesWithViewsAreRefused(table: String, rows: String) throws {
    let map = try whole("map.mbtiles")
    _ = try BundlePatch.diff(old: map, new: map, output: folder.file("patch"))
    try Database(folder.file("patch")).run("DROP TABLE \(table); CREATE VIEW \(table) AS \(Self.numbers) \(rows)")
    let error = #expect(throws: BundleError.self) {
      try BundlePatch.apply(folder.file("patch"), to: map, output: folder.file("new.mbtiles"))
    }
    #expect(error?.code == .malformed && error?.path == folder.file("patch"), "\(error?.description ?? "")")
    #expect(!folder.names.contains("new.mbtiles"))
  }
}
