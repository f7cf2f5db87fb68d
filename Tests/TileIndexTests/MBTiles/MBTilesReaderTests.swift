import Foundation
import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct MBTilesReaderTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func bundle(_ sql: String, _ name: String = "foreign.mbtiles") throws -> String {
    try Database(folder.file(name)).run(sql)
    return folder.file(name)
  }

  static let layouts: [(String, String, BundleLayout)] = [
    ("flat", ForeignBundle.flat(), .flat), ("flat without index", ForeignBundle.flat(index: false), .flat),
    ("text ids", ForeignBundle.textIDs, .mapAndImages), ("another view", ForeignBundle.otherView, .view),
    ("without rowid", ForeignBundle.withoutRowid, .flat),
  ]

  @Test(arguments: layouts)
  func allTableLayoutsAreRead(name: String, sql: String, layout: BundleLayout) throws {
    let reader = try MBTilesReader(path: try bundle(sql))
    #expect(reader.layout == layout)
    #expect(reader.matrixSet == .webMercatorQuad)
    for (tile, bytes) in ForeignBundle.tiles {
      #expect(try reader.tile(tile) == bytes)
      #expect(try reader.withTile(tile) { $0.count } == bytes.count)
    }
    #expect(try reader.tile(TileID(unchecked: 2, 0, 0)) == nil)
    #expect(try reader.tile(TileID(unchecked: 30, 5, 5)) == nil)
    #expect(try reader.tile(TileID(unchecked: 2, 9, -9)) == nil)
    #expect(try reader.zooms() == [0, 1, 2])
    #expect(try reader.tileCount() == 6)
    #expect(try reader.distinctTileCount() == 5)
    #expect(try reader.range(zoom: 2) == TileRange(zoom: 2, columns: 1...3, rows: 0...3))
    #expect(try reader.range(zoom: 3) == nil)
    var walked: [(TileID, [UInt8])] = []
    try reader.forEachTile { walked.append(($0, Array($1))) }
    let expected = ForeignBundle.tiles.sorted { a, b in
      (a.0.zoom, a.0.column, -a.0.row) < (b.0.zoom, b.0.column, -b.0.row)
    }
    #expect(walked.map(\.0) == expected.map(\.0))
    #expect(walked.map(\.1) == expected.map(\.1))
  }

  @Test(arguments: [TileMatrixSet.webMercatorQuad, .worldCRS84Quad, tradeDegrees])
  func writtenBundlesReadBack(set: TileMatrixSet) throws {
    var random = SeededGenerator(seed: 51)
    let path = folder.file("own.mbtiles")
    let writer = try BundleWriter(path: path, matrixSet: set, format: .png)
    var tiles: [TileID: [UInt8]] = [:]
    while tiles.count < 500 {
      let tile = random.tile(zooms: 0...min(set.zooms.upperBound, 12), in: set)
      let bytes = blob(UInt8.random(in: 0...200, using: &random), count: Int.random(in: 0...2_000, using: &random))
      guard tiles[tile] == nil else { continue }
      tiles[tile] = bytes
      try writer.put(tile, bytes)
    }
    _ = try writer.finish(BundleMetadata(name: "own"))
    let reader = try MBTilesReader(path: path, matrixSet: set == tradeDegrees ? set : nil)
    #expect(reader.matrixSet == set)
    var seen = 0
    try reader.forEachTile { tile, bytes in
      seen += 1
      #expect(tiles[tile].map { $0 == Array(bytes) } == true, "seed 51, \(tile)")
      let found = try reader.tile(tile)
      #expect(found == tiles[tile])
    }
    #expect(seen == 500)
    #expect(try reader.zooms() == Array(Set(tiles.keys.map(\.zoom))).sorted())
    for zoom in try reader.zooms() {
      let columns = tiles.keys.filter { $0.zoom == zoom }.map(\.column)
      let rows = tiles.keys.filter { $0.zoom == zoom }.map(\.row)
      #expect(
        try reader.range(zoom: zoom)
          == TileRange(zoom: zoom, columns: columns.min()!...columns.max()!, rows: rows.min()!...rows.max()!))
    }
  }

  @Test func metadataAreParsedLeniently() throws {
    let reader = try MBTilesReader(
      path: try bundle(
        ForeignBundle.flat() + """
          INSERT INTO metadata VALUES ('format', 'webp'), ('center', ' 8.5, 47.25 ,5.0'), ('minzoom', '0.0'), \
          ('maxzoom', 'x'),
            ('type', 'Overlay'), ('bounds ', 'x');
          UPDATE metadata SET value = '-10, -20 ,30,4e1' WHERE name = 'bounds';
          UPDATE metadata SET value = 'image/jpeg' WHERE value = 'png';
          INSERT INTO metadata VALUES ('version', 1.2);
          INSERT INTO metadata VALUES (NULL, NULL);
          INSERT INTO metadata VALUES ('broken', CAST(X'61FF62' AS TEXT));
          """))
    let metadata = reader.metadata
    #expect(metadata.name == "Foreign")
    #expect(metadata.format == .jpg)
    #expect(metadata.entries.count(where: { $0.name == "format" }) == 2)
    #expect(metadata.bounds == BoundingBox(west: -10, south: -20, east: 30, north: 40))
    #expect(metadata.center == BundleMetadata.Center(longitude: 8.5, latitude: 47.25, zoom: 5))
    #expect(metadata.minZoom == 0)
    #expect(metadata.maxZoom == nil)
    #expect(metadata.type == .overlay)
    #expect(metadata.version == "1.2")
    #expect(metadata["broken"] == "a\u{FFFD}b")
    #expect(metadata["nothing"] == nil)
  }

  @Test(arguments: [
    ("png", TileFormat.png), ("PNG", .png), ("jpeg", .jpg), ("jpg", .jpg), (".jpg", .jpg), ("image/webp", .webp),
    ("application/vnd.mapbox-vector-tile", .pbf), ("mvt", .pbf), ("image/png; mode=8bit", .png), ("png8", .png),
    ("tiff", nil), ("", nil), ("image/", nil),
  ])
  func formatNamesAreParsedLeniently(word: String, format: TileFormat?) {
    #expect(TileFormat(lenient: word) == format)
  }

  @Test func formatsAreDetectedFromBytes() {
    func sniff(_ bytes: [UInt8]) -> TileFormat? { bytes.withUnsafeBytes { TileFormat(sniffing: $0) } }
    #expect(sniff(blob(0)) == .png)
    #expect(sniff([0xff, 0xd8, 0xff, 0xe1]) == .jpg)
    #expect(sniff(Array("RIFF\0\0\0\0WEBPVP8 ".utf8)) == .webp)
    #expect(sniff([0x1f, 0x8b, 8]) == .pbf)
    #expect(sniff([]) == nil)
    #expect(sniff([0x89, 0x50]) == nil)
    #expect(sniff(Array("RIFF\0\0\0\0WAVE".utf8)) == nil)
    #expect(sniff([0x1a, 0x02, 0x08]) == nil)
  }

  @Test func bundlesWithoutMetadataAreRead() throws {
    let reader = try MBTilesReader(
      path: try bundle(
        """
        CREATE TABLE tiles (zoom_level, tile_column, tile_row, tile_data);
        INSERT INTO tiles VALUES (0, 0, 0, X'89504E');
        """
      ))
    #expect(reader.metadata.entries.isEmpty)
    #expect(try reader.tile(TileID(unchecked: 0, 0, 0)) == [0x89, 0x50, 0x4e])
  }

  @Test func invalidRowsAreSkipped() throws {
    let reader = try MBTilesReader(
      path: try bundle(
        """
        CREATE TABLE tiles (zoom_level, tile_column, tile_row, tile_data);
        INSERT INTO tiles VALUES (0, 0, 0, X'01'), ('one', 0, 0, X'01'), (NULL, NULL, NULL, NULL), (1, 0, 0, NULL), \
        (1, 0, 1, ''),
          (-1, 0, 0, X'01'), (99, 0, 0, X'01'), (1, -9223372036854775808, 9223372036854775807, X'01'),
          (1, 9223372036854775807, -9223372036854775808, X'01'), (1, 1.5, 0, X'01'), (2, 'x', 'y', X'01'), (2, 3, 0, \
          'text');
        """))
    var walked: [String] = []
    try reader.forEachTile { tile, _ in walked.append(tile.description) }
    #expect(walked == ["0/0/0", "2/3/3"])
    #expect(try reader.zooms() == [0, 1, 2])
    let range = try reader.range(zoom: 1)
    #expect(range?.description == "1/0-0/0-1")
    #expect(try reader.tileCount() == 12)
    #expect(try reader.tile(TileID(unchecked: 1, 0, 1)) == nil)
    #expect(try reader.tile(TileID(unchecked: 1, 0, 0)) == nil)
  }

  @Test(arguments: [
    ("missing.mbtiles", nil, BundleError.Code.notFound),
    ("empty.mbtiles", Data(), .malformed),
    ("text.mbtiles", Data("This is a text that is much longer than the sixteen bytes of a header.".utf8), .malformed),
    ("head.mbtiles", Data("SQLite format 3\0".utf8), .malformed),
    ("zeros.mbtiles", Data(count: 4096), .malformed),
  ])
  func nonBundlesAreRefusedWithTheReason(name: String, content: Data?, code: BundleError.Code) throws {
    if let content { try content.write(to: URL(fileURLWithPath: folder.file(name))) }
    let error = #expect(throws: BundleError.self) { try MBTilesReader(path: folder.file(name)) }
    #expect(error?.code == code, "\(error?.description ?? "")")
    #expect(error?.path == folder.file(name))
    #expect(error?.remedy != nil)
  }

  @Test func foldersAndOtherDatabasesAreRefused() throws {
    for (path, code) in [(folder.path, BundleError.Code.malformed), ("", .notFound), ("/dev/null", .malformed)] {
      let error = #expect(throws: BundleError.self) { try MBTilesReader(path: path) }
      #expect(error?.code == code)
    }
    for sql in [
      "CREATE TABLE places (x)", "CREATE TABLE tiles (x)", "CREATE VIEW tiles AS SELECT * FROM missing",
      "CREATE TABLE grid_tiles (zoom_level, tile_column, tile_row, tile_data)",
      """
      CREATE TABLE grid_tiles (zoom_level, tile_column, tile_row, tile_data); CREATE TABLE metadata (name, value);
      INSERT INTO metadata VALUES ('tile_matrix_set', 'urn:unknown')
      """,
    ] {
      let path = try bundle(sql, "\(sql.count).mbtiles")
      let error = #expect(throws: BundleError.self) { try MBTilesReader(path: path) }
      #expect(error?.code == .malformed, "\(sql): \(error?.description ?? "")")
    }
  }

  /// Truncated and modified files give errors or tiles, and never crash.
  @Test func damagedFilesNeverCrash() throws {
    var random = SeededGenerator(seed: 52)
    let path = folder.file("own.mbtiles")
    let writer = try BundleWriter(path: path, matrixSet: .webMercatorQuad, format: .png)
    for tile in TileRange(zoom: 4, columns: 0...15, rows: 0...15) {
      try writer.put(tile, blob(UInt8(tile.row * 16 + tile.column), count: 300))
    }
    _ = try writer.finish(BundleMetadata(name: "own"))
    let whole = [UInt8](try folder.bytes("own.mbtiles"))
    var refused = 0
    for _ in 0..<150 {
      var bytes = whole
      if Bool.random(using: &random) { bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random)) }
      for _ in 0..<Int.random(in: 0...40, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      let damaged = folder.file("damaged.mbtiles")
      try Data(bytes).write(to: URL(fileURLWithPath: damaged))
      do {
        let reader = try MBTilesReader(path: damaged)
        _ = try reader.zooms()
        _ = try reader.distinctTileCount()
        _ = try reader.tile(TileID(unchecked: 4, 3, 3))
        try reader.forEachTile { _, _ in }
      } catch let error as BundleError {
        refused += 1
        #expect(error.code == .malformed || error.code == .readFailed, "seed 52: \(error)")
      }
    }
    #expect(refused > 20)
  }

  @Test(arguments: ["with spaces.mbtiles", "100%.mbtiles", "a?mode=rwc#c&d=e.mbtiles", "Zürich.mbtiles", "%41.mbtiles"])
  func fileNamesMayContainSpecialCharacters(name: String) throws {
    let reader = try MBTilesReader(path: try bundle(ForeignBundle.flat(), name))
    #expect(try reader.tileCount() == 6)
    #expect(folder.names == [name])
  }

  @Test func symbolicLinksAndDoubleSlashesAreFollowed() throws {
    let path = try bundle(ForeignBundle.flat())
    try FileManager.default.createSymbolicLink(atPath: folder.file("link.mbtiles"), withDestinationPath: path)
    #expect(try MBTilesReader(path: folder.file("link.mbtiles")).tileCount() == 6)
    #expect(try MBTilesReader(path: "//" + path).tileCount() == 6)
  }

  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)),
    arguments: [
      ("byte", 1), ("byte_jpeg", 1), ("geography-class-png", 5), ("geography-class-webp", 5), ("globe", 21),
      ("invalid-tile-format", 2), ("plain_1", 285), ("with spaces", 0), ("world_cities", 196), ("world_l1", 5),
      ("world_l1_webp", 4),
    ])
  func realBundlesAreRead(name: String, count: Int) throws {
    let reader = try MBTilesReader(path: TestData.url("maps/tilesets/\(name).mbtiles").path)
    var walked = 0
    try reader.forEachTile { tile, bytes in
      walked += 1
      let found = try reader.withTile(tile) { Array($0) }
      #expect(found == Array(bytes), "\(tile)")
    }
    #expect(walked == count)
    #expect(try reader.tileCount() == count)
    #expect(try reader.distinctTileCount() <= count)
  }

  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)), arguments: ["corrupt", "invalid"])
  func realDamagedBundlesAreRefused(name: String) throws {
    let error = #expect(throws: BundleError.self) {
      try MBTilesReader(path: TestData.url("maps/tilesets/\(name).mbtiles").path)
    }
    #expect(error?.code == .malformed)
    #expect(error?.remedy != nil)
  }
}
