import Foundation
import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct BundleVerifierTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  struct Broken: Error, CustomStringConvertible { let description = "no end" }

  /// Checks without a codec: the size, and that a PNG has its end.
  static func decode(_ bytes: UnsafeRawBufferPointer, _ format: TileFormat) throws -> (width: Int, height: Int)? {
    guard format != .pbf else { return nil }
    guard let header = ImageHeader(bytes) else { throw Broken() }
    if format == .png, Data(bytes).range(of: Data("IEND".utf8)) == nil { throw Broken() }
    return (header.width, header.height)
  }

  /// Zooms 0 to 3 of north-western America: 1 + 1 + 1 + 4 tiles, three of them equal.
  func ownBundle(set: TileMatrixSet = .webMercatorQuad) throws -> String {
    let path = folder.file("own.mbtiles")
    let writer = try BundleWriter(path: path, matrixSet: set, format: .png, replacing: true)
    for zoom in 0...2 { try writer.put(TileID(unchecked: zoom, 0, 0), Images.grey256) }
    for tile in TileRange(zoom: 3, columns: 0...1, rows: 0...1) { try writer.put(tile, Images.grey256("\(tile)")) }
    _ = try writer.finish(
      BundleMetadata(
        name: "own", description: "a test", attribution: "us",
        bounds: BoundingBox(west: -170, south: 68, east: -95, north: 84)))
    return path
  }

  func verify(_ path: String) throws -> VerificationReport {
    try BundleVerifier(path: path, decode: Self.decode).verify()
  }

  @Test(arguments: [TileMatrixSet.webMercatorQuad, .worldCRS84Quad])
  func writtenBundlesHaveNoFindings(set: TileMatrixSet) throws {
    let report = try verify(try ownBundle(set: set))
    #expect(report.isValid)
    for outcome in report.outcomes { #expect(outcome.findings.isEmpty) }
    #expect(report.tiles == 7)
    #expect(report.tileMatrixSet == set.identifier)
    #expect(report.outcomes.map(\.rule) == BundleVerifier.rules)
    #expect(Set(BundleVerifier.rules.map(\.id)).count == BundleVerifier.rules.count)
    let json = try JSONEncoder().encode(report)
    #expect(try JSONDecoder().decode(VerificationReport.self, from: json) == report)
  }

  /// Bounds smaller than the tiles would violate a rule, so the writer extends them.
  @Test func boundsAreExtendedToEveryTile() throws {
    let path = folder.file("small.mbtiles")
    let writer = try BundleWriter(path: path, matrixSet: .webMercatorQuad, format: .png)
    for tile in TileRange(zoom: 5, columns: 4...9, rows: 10...13) { try writer.put(tile, Images.grey256) }
    _ = try writer.finish(
      BundleMetadata(name: "small", bounds: BoundingBox(west: -101.5, south: 41.5, east: -101.25, north: 42)))
    let bounds = try MBTilesReader(path: path).metadata.bounds
    #expect(bounds?.west == -123.75 && bounds?.east == -78.75)
    #expect(try verify(path).outcomes.allSatisfy { $0.findings.isEmpty })
  }

  /// An overview of the world and one region in detail: the bounds are those of the region.
  @Test func overviewsMayCoverMoreThanTheBounds() throws {
    let path = try worldAndRegion()
    let report = try verify(path)
    #expect(report.isValid)
    #expect(report.outcomes.filter { $0.warnings > 0 }.map(\.rule.id) == ["bounds"])
  }

  /// Where it is said that areas end at different zooms, the bounds are those of the zooms before.
  @Test(arguments: ["3-10", "2-10"]) func areasMayEndAtDifferentZooms(_ ends: String) throws {
    let path = try worldAndRegion(extra: ["variable_depth": ends])
    let bounds = try #require(try BundleFile.open(path).metadata.bounds)
    #expect(bounds.west == -180 && bounds.east == 180)
    #expect(try verify(path).outcomes.allSatisfy { $0.findings.isEmpty })
    // That holds for the deeper zooms only.
    try Database(path).run("DELETE FROM map WHERE zoom_level = 2 AND tile_column > 0")
    let report = try verify(path)
    #expect(report.outcomes.contains { $0.rule.id == "bounds" && $0.errors > 0 })
  }

  /// The world through zoom 3, and a region through zoom 10.
  private func worldAndRegion(extra: [String: String] = [:]) throws -> String {
    let path = folder.file("sparse.mbtiles")
    let writer = try BundleWriter(path: path, matrixSet: .webMercatorQuad, format: .png)
    for zoom in 0...3 {
      for tile in TileMatrixSet.webMercatorQuad.wholeRange(zoom: zoom) { try writer.put(tile, Images.grey256) }
    }
    for zoom in 4...10 {
      let up = 10 - zoom
      for tile in TileRange(zoom: zoom, columns: (300 >> up)...(310 >> up), rows: (400 >> up)...(405 >> up)) {
        try writer.put(tile, Images.grey256)
      }
    }
    _ = try writer.finish(BundleMetadata(name: "sparse", description: "a test", attribution: "us", extra: extra))
    return path
  }

  struct Break: Sendable, CustomTestStringConvertible {
    let sql: String
    let rule: String
    let message: String
    var severity = VerificationFinding.Severity.error
    var tile: String?
    var testDescription: String { sql }
  }

  static let breaks: [Break] = [
    Break(sql: "DROP TABLE metadata", rule: "metadata-table", message: "no table or view called metadata"),
    Break(
      sql: "ALTER TABLE metadata ADD COLUMN note text", rule: "metadata-table", message: "columns are name, note, value"
    ),
    Break(
      sql: "DROP INDEX metadata_name; INSERT INTO metadata VALUES ('name', 'again')", rule: "metadata-table",
      message: "\"name\" is there twice"),
    Break(
      sql: "UPDATE metadata SET value = CAST(X'FF41' AS TEXT) WHERE name = 'attribution'", rule: "metadata-table",
      message: "\"attribution\" is not UTF-8"),
    Break(
      sql: "UPDATE metadata SET value = NULL WHERE name = 'attribution'", rule: "metadata-table",
      message: "\"attribution\" is not text"),
    Break(sql: "DELETE FROM metadata WHERE name = 'name'", rule: "required-metadata", message: "no name"),
    Break(
      sql: "DELETE FROM metadata WHERE name = 'format'", rule: "required-metadata",
      message: "format of the tiles is not given"),
    Break(
      sql: "UPDATE metadata SET value = 'jpeg' WHERE name = 'format'", rule: "required-metadata",
      message: "\"jpeg\" is not a format that MBTiles knows"),
    Break(
      sql: "UPDATE metadata SET value = 'pbf' WHERE name = 'format'", rule: "required-metadata",
      message: "vector_layers"),
    Break(
      sql: "UPDATE metadata SET value = 'image/webp' WHERE name = 'format'", rule: "blob-format",
      message: "the bytes are png, the metadata say webp", tile: "0/0/0"),
    Break(
      sql: "UPDATE map SET tile_row = 8 WHERE zoom_level = 3 AND tile_column = 0 AND tile_row = 7", rule: "tile-range",
      message: "zoom_level 3, tile_column 0, tile_row 8 lies outside WebMercatorQuad"),
    Break(
      sql: "UPDATE map SET tile_column = -1 WHERE zoom_level = 2", rule: "tile-range", message: "tile_column -1"),
    Break(sql: "UPDATE map SET zoom_level = 31 WHERE zoom_level = 0", rule: "tile-range", message: "zoom_level 31"),
    Break(sql: "UPDATE map SET zoom_level = 'x' WHERE zoom_level = 2", rule: "tiles-table", message: "not integers"),
    Break(
      sql: "UPDATE images SET tile_data = '' WHERE tile_id = 2", rule: "tiles-table", message: "has no bytes",
      tile: "3/0/0"),
    Break(
      sql: "UPDATE images SET tile_data = CAST('text' AS TEXT) WHERE tile_id = 2", rule: "tiles-table",
      message: "stored as text", tile: "3/0/0"),
    Break(
      sql: "DROP INDEX map_tile; INSERT INTO map SELECT * FROM map WHERE zoom_level = 2", rule: "unique-tiles",
      message: "there twice", tile: "2/0/0"),
    Break(sql: "DROP INDEX map_tile", rule: "unique-tiles", message: "no unique index", severity: .warning),
    Break(
      sql: "INSERT INTO images VALUES (99, X'89504E47')", rule: "orphans", message: "the image 99 belongs to no tile",
      severity: .warning),
    Break(
      sql: "UPDATE map SET tile_id = NULL WHERE zoom_level = 3 AND tile_column = 0 AND tile_row = 7", rule: "orphans",
      message: "its image is NULL", severity: .warning, tile: "3/0/0"),
    Break(sql: "DELETE FROM images WHERE tile_id = 2", rule: "orphans", message: "image 2 is missing", tile: "3/0/0"),
    Break(
      sql: "UPDATE images SET tile_data = X'0000000000' WHERE tile_id = 3", rule: "blob-format",
      message: "not PNG, JPEG, WebP or gzip", tile: "3/1/0"),
    Break(
      sql: """
        UPDATE images SET tile_data = \(ForeignBundle.hex(Images.webp("VP8L", width: 256, height: 256)))
        WHERE tile_id = 3
        """,
      rule: "blob-format", message: "the bytes are webp, the metadata say png", tile: "3/1/0"),
    Break(
      sql: "UPDATE images SET tile_data = substr(tile_data, 1, 33) WHERE tile_id = 4", rule: "decode",
      message: "does not decode: no end", tile: "3/0/1"),
    Break(
      sql: "UPDATE images SET tile_data = \(ForeignBundle.hex(Images.png(width: 512, height: 512))) WHERE tile_id = 4",
      rule: "decode", message: "is 512 x 512 pixels, the first one 256 x 256", tile: "3/0/1"),
    Break(
      sql: "UPDATE images SET tile_data = \(ForeignBundle.hex(Images.png(width: 256, height: 255))) WHERE tile_id = 4",
      rule: "decode", message: "is 256 x 255 pixels, not square", tile: "3/0/1"),
    Break(
      sql: "DELETE FROM metadata WHERE name = 'minzoom'", rule: "zooms", message: "minzoom is not given",
      severity: .warning),
    Break(
      sql: "UPDATE metadata SET value = '2' WHERE name = 'maxzoom'", rule: "zooms",
      message: "maxzoom is 2, but the tiles' is 3"),
    Break(sql: "UPDATE metadata SET value = '' WHERE name = 'minzoom'", rule: "zooms", message: "minzoom is , but"),
    Break(sql: "DELETE FROM map; DELETE FROM images", rule: "zooms", message: "has no tiles"),
    Break(sql: "DELETE FROM map WHERE zoom_level = 1", rule: "zooms", message: "zoom 1 has no tiles"),
    Break(
      sql: "UPDATE metadata SET value = 'image/png/x' WHERE name = 'format'", rule: "required-metadata",
      message: "\"image/png/x\" is not a format that MBTiles knows"),
    Break(sql: "DELETE FROM metadata WHERE name = 'bounds'", rule: "bounds", message: "not given", severity: .warning),
    Break(
      sql: "UPDATE metadata SET value = '1,2,3' WHERE name = 'bounds'", rule: "bounds", message: "not four numbers"),
    Break(
      sql: "UPDATE metadata SET value = '-95,68,-170,84' WHERE name = 'bounds'", rule: "bounds",
      message: "not in the order"),
    Break(
      sql: "UPDATE metadata SET value = '-170,68,-95,86' WHERE name = 'bounds'", rule: "bounds",
      message: "beyond the grid"),
    Break(
      sql: "UPDATE metadata SET value = '-170,68,-40,84' WHERE name = 'bounds'", rule: "bounds",
      message: "at zoom 3 the bounds reach 1.11 tiles further east"),
    Break(
      sql: "UPDATE metadata SET value = '-170,68,-80,84' WHERE name = 'bounds'", rule: "bounds",
      message: "at zoom 3 the bounds reach 0.22 of a tile further east", severity: .warning),
    Break(
      sql: "UPDATE metadata SET value = '-170,68,-140,84' WHERE name = 'bounds'", rule: "bounds",
      message: "at zoom 3 there are tiles outside the bounds, 1.11 tiles further east"),
    Break(sql: "DELETE FROM metadata WHERE name = 'center'", rule: "center", message: "not given", severity: .warning),
    Break(sql: "UPDATE metadata SET value = '0,x' WHERE name = 'center'", rule: "center", message: "not three numbers"),
    Break(sql: "UPDATE metadata SET value = '-100,70' WHERE name = 'center'", rule: "center", message: "has no zoom"),
    Break(
      sql: "UPDATE metadata SET value = '0,70,2' WHERE name = 'center'", rule: "center", message: "outside the bounds"),
    Break(
      sql: "UPDATE metadata SET value = '-100,70,4' WHERE name = 'center'", rule: "center",
      message: "zoom 4 has no tiles", severity: .warning),
    Break(
      sql: "UPDATE metadata SET value = 'layer' WHERE name = 'type'", rule: "descriptive-metadata",
      message: "neither overlay nor baselayer"),
    Break(
      sql: "UPDATE metadata SET value = '1.3' WHERE name = 'version'", rule: "descriptive-metadata",
      message: "looks like that of the MBTiles specification", severity: .warning),
    Break(
      sql: "UPDATE metadata SET value = '/home/me/map.tif' WHERE name = 'description'", rule: "descriptive-metadata",
      message: "description is a path", severity: .warning),
    Break(
      sql: """
        INSERT INTO metadata VALUES ('tile_matrix_set', '\(TileMatrixSet.worldCRS84Quad.uri)'), ('crs', 'OGC:CRS84')
        """, rule: "grid-mark", message: "readers will take tiles for Web Mercator"),
    Break(
      sql: "PRAGMA application_id = 1", rule: "application-id", message: "another program's",
      severity: .warning),
  ]

  @Test(arguments: breaks)
  func everyViolationIsFound(_ one: Break) throws {
    let path = try ownBundle()
    try Database(path).run(one.sql)
    let report = try verify(path)
    let outcome = try #require(report.outcomes.first { $0.rule.id == one.rule })
    let finding = outcome.findings.first { $0.message.contains(one.message) }
    #expect(finding != nil, "\(outcome.findings)")
    #expect(finding?.severity == one.severity)
    #expect(finding?.remedy.isEmpty == false)
    if let tile = one.tile { #expect(finding?.tile == tile) }
    #expect(report.isValid == (one.severity == .warning) || report.errors > 0)
    if one.severity == .error { #expect(!report.isValid) }
  }

  /// MBTiles 1.3 allows any media type as format, and does not require an application_id.
  @Test(arguments: ["image/avif", "image/jxl", "application/x.heights+json; version=2"])
  func otherMediaTypesAreAccepted(format: String) throws {
    let path = try ownBundle()
    let bytes = format == "image/avif" ? Array("\0\0\0\u{1c}ftypavif\0\0\0\0".utf8) : Array("anything at all".utf8)
    try Database(path).run(
      """
      UPDATE images SET tile_data = \(ForeignBundle.hex(bytes)); UPDATE metadata SET value = '\(format)' WHERE name = \
      'format'; PRAGMA application_id = 0
      """)
    let report = try verify(path)
    #expect(report.isValid && report.warnings == 1, "\(report.outcomes.flatMap(\.findings))")
    #expect(report.outcomes.first { $0.warnings > 0 }?.findings.first?.message.contains("not decoded") == true)
  }

  /// An image of a known format under another media type is not what the metadata say.
  @Test func bytesOfAnotherFormatThanTheMediaTypeAreFound() throws {
    let path = try ownBundle()
    try Database(path).run("UPDATE metadata SET value = 'image/avif' WHERE name = 'format'")
    #expect(
      try verify(path).outcomes.first { $0.rule.id == "blob-format" }?.findings.first?.message
        == "the bytes are png, the metadata say image/avif")
    try Database(path).run("UPDATE images SET tile_data = X'00112233445566778899AABBCC'")
    #expect(
      try verify(path).outcomes.first { $0.rule.id == "blob-format" }?.findings.first?.message
        == "the bytes are no AVIF, the metadata say image/avif")
  }

  static let gridBreaks: [Break] = [
    Break(sql: "PRAGMA application_id = 1297105496", rule: "application-id", message: "not that of MBTiles"),
    Break(
      sql: "CREATE VIEW tiles AS SELECT * FROM grid_tiles", rule: "grid-mark",
      message: "readers will take tiles for Web Mercator"),
    Break(sql: "DELETE FROM metadata WHERE name = 'crs'", rule: "grid-mark", message: "crs is not given"),
    Break(
      sql: "UPDATE metadata SET value = 'WorldCRS84Quad' WHERE name = 'tile_matrix_set'", rule: "grid-mark",
      message: "tile_matrix_set is WorldCRS84Quad"),
    Break(
      sql: "UPDATE map SET tile_column = 16 WHERE zoom_level = 3 AND tile_column = 1 AND tile_row = 7",
      rule: "tile-range",
      message: "lies outside WorldCRS84Quad"),
    Break(
      sql: "UPDATE metadata SET value = '\(TileMatrixSet.webMercatorQuad.uri)' WHERE name = 'tile_matrix_set'",
      rule: "grid-mark", message: "although the grid is Web Mercator"),
  ]

  @Test(arguments: gridBreaks)
  func otherGridsAreCheckedAgainstTheirOwnLimits(_ one: Break) throws {
    let path = try ownBundle(set: .worldCRS84Quad)
    try Database(path).run(one.sql)
    let report = try verify(path)
    let found = report.outcomes.first { $0.rule.id == one.rule }?.findings.first { $0.message.contains(one.message) }
    #expect(found?.severity == .error, "\(report.outcomes.flatMap(\.findings))")
    #expect(!report.isValid)
  }

  @Test(arguments: [("-wal", "", VerificationFinding.Severity.warning), ("-journal", "x", .error)])
  func sideFilesAreFound(suffix: String, content: String, severity: VerificationFinding.Severity) throws {
    let path = try ownBundle()
    try Data(content.utf8).write(to: URL(fileURLWithPath: path + suffix))
    let report = try verify(path)
    #expect(report.outcomes.last?.rule.id == "side-files")
    #expect(report.outcomes.last?.findings.first?.severity == severity)
    #expect(report.outcomes.dropLast().allSatisfy { $0.findings.isEmpty })
  }

  @Test func unmergedLogsAreFound() throws {
    let path = folder.file("logged.mbtiles")
    let live = try Database(path)
    try live.run("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
    try live.run(ForeignBundle.flat())
    let report = try verify(path)
    let outcome = try #require(report.outcomes.last)
    #expect(outcome.errors == 1 && outcome.warnings == 1)
    #expect(report.tiles == 6)
    withExtendedLifetime(live) {}
  }

  @Test func repeatedFindingsAreCountedBeyondTen() throws {
    let path = folder.file("many.mbtiles")
    let writer = try BundleWriter(path: path, matrixSet: .webMercatorQuad, format: .png)
    for tile in TileRange(zoom: 5, columns: 0...31, rows: 0...31) {
      try writer.put(tile, Images.png(width: 256, height: 256))
    }
    _ = try writer.finish(BundleMetadata(name: "many"))
    var seen = 0
    let report = try BundleVerifier(path: path, decode: { _, _ in throw Broken() }).verify { seen = $0 }
    let outcome = try #require(report.outcomes.first { $0.rule.id == "decode" })
    #expect(outcome.errors == 1024 && outcome.findings.count == 10)
    #expect(report.errors == 1024)
    #expect(seen == 1024)
  }

  /// Equal tiles share a blob, which is decoded once.
  @Test func equalTilesAreDecodedOnce() throws {
    let path = folder.file("sea.mbtiles")
    let writer = try BundleWriter(path: path, matrixSet: .webMercatorQuad, format: .png)
    for tile in TileRange(zoom: 5, columns: 0...31, rows: 0...31) { try writer.put(tile, Images.grey256) }
    _ = try writer.finish(BundleMetadata(name: "sea"))
    var decoded = 0
    let report = try BundleVerifier(path: path) { bytes, format in
      decoded += 1
      return try Self.decode(bytes, format)
    }.verify()
    #expect(report.isValid && decoded == 1)
  }

  @Test func damagedPagesAreFindingsOfTheDatabaseRule() throws {
    let path = folder.file("damaged.mbtiles")
    let writer = try BundleWriter(path: path, matrixSet: .webMercatorQuad, format: .png)
    for tile in TileRange(zoom: 5, columns: 0...31, rows: 0...31) {
      try writer.put(tile, Images.grey256(String(repeating: "\(tile) ", count: 50)))
    }
    _ = try writer.finish(BundleMetadata(name: "damaged"))
    var bytes = try folder.bytes("damaged.mbtiles")
    for page in 8..<20 {
      bytes.replaceSubrange((page * 16384)..<(page * 16384 + 100), with: Data(repeating: 0xee, count: 100))
    }
    try bytes.write(to: URL(fileURLWithPath: path))
    let report = try verify(path)
    #expect(report.outcomes[0].rule.id == "database")
    #expect(report.outcomes[0].errors > 0)
    try bytes.prefix(30_000).write(to: URL(fileURLWithPath: path))
    #expect(try verify(path).outcomes[0].errors > 0)
  }

  @Test func missingFilesThrow() {
    let error = #expect(throws: BundleError.self) { try verify(folder.file("missing.mbtiles")) }
    #expect(error?.code == .notFound)
  }

  /// Known violations of real bundles, verified by hand: ids of rules with errors, then of rules with only warnings.
  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)),
    arguments: [
      ("byte", [], ["center", "descriptive-metadata"]),
      ("byte_jpeg", [], ["center", "descriptive-metadata"]),
      ("corrupt", ["database"], []), ("invalid", ["database"], []),
      ("geography-class-png", ["required-metadata"], ["descriptive-metadata"]),
      ("geography-class-webp", ["required-metadata"], ["descriptive-metadata"]),
      ("globe", [], ["zooms", "center", "descriptive-metadata"]),
      (
        "invalid-tile-format", ["required-metadata", "blob-format", "bounds"],
        ["center", "descriptive-metadata"]
      ),
      (
        "plain_1", ["metadata-table", "required-metadata"],
        ["zooms", "center", "descriptive-metadata"]
      ),
      (
        "with spaces", ["required-metadata", "zooms"], ["bounds", "center", "descriptive-metadata"]
      ),
      ("world_cities", [], []),
      ("world_l1", ["required-metadata"], ["zooms", "center"]),
      ("world_l1_webp", [], ["center", "descriptive-metadata"]),
    ] as [(String, [String], [String])])
  func realBundlesHaveTheirKnownFindings(name: String, errors: [String], warnings: [String]) throws {
    let report = try BundleVerifier(path: TestData.url("maps/tilesets/\(name).mbtiles").path) { bytes, format in
      guard format != .pbf else { return nil }
      guard let header = ImageHeader(bytes) else { throw Broken() }
      return (header.width, header.height)
    }.verify()
    #expect(report.outcomes.filter { $0.errors > 0 }.map(\.rule.id) == errors)
    #expect(report.outcomes.filter { $0.errors == 0 && $0.warnings > 0 }.map(\.rule.id) == warnings)
  }
}
