import Support
import TestSupport
import Testing

@testable import TileIndex

/// Tiles and tables that other makers store in their own ways.
@Suite(.ownThread) struct ForeignTilesTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// A layer `a` with one point.
  private static let vectorTile: [UInt8] = [
    0x1a, 0x11, 0x0a, 0x01, 0x61, 0x12, 0x07, 0x18, 0x01, 0x22, 0x03, 0x09, 0x32, 0x22, 0x28, 0x80, 0x20, 0x78, 0x02,
  ]

  private func mbtiles(_ tile: [UInt8], format: String, type: String = "INTEGER") throws -> String {
    let path = folder.file("x.mbtiles")
    try Database(path).run(
      """
      CREATE TABLE metadata (name text, value text);
      CREATE TABLE tiles (zoom_level \(type), tile_column \(type), tile_row \(type), tile_data BLOB);
      INSERT INTO metadata VALUES ('name', 'n'), ('format', '\(format)');
      INSERT INTO metadata VALUES ('json', '{"vector_layers":[{"id":"a","fields":{}}]}');
      """
        + [2, 10].flatMap { zoom in
          [(0, 0), (1, 3), (3, 2)].map { column, row in
            "INSERT INTO tiles VALUES (\(zoom), \(column), \(row), \(ForeignBundle.hex(tile)));"
          }
        }.joined())
    return path
  }

  @Test func imagesInGzipAreRefusedByName() throws {
    let reader = try BundleFile.open(mbtiles(SmallArchive.gzip(Images.grey256), format: "png"))
    #expect(try reader.tileFormat() == nil)
    let error = #expect(throws: BundleError.self) {
      try BundleConvert().write(reader, to: folder.file("o.pmtiles"))
    }
    #expect(error?.message.contains("compressed with gzip") == true)
    #expect(throws: BundleError.self) { try BundleExtract().write(reader, to: folder.file("e.mbtiles")) }
    #expect(throws: BundleError.self) { try BundleMerge().write([reader], to: folder.file("m.mbtiles")) }
    #expect(try BundleInspection(reader).kinds.map(\.format) == [nil])
  }

  @Test func vectorTilesThatWereCompressedTwiceAreRefusedByName() throws {
    let twice = SmallArchive.gzip(SmallArchive.gzip(Self.vectorTile))
    let reader = try BundleFile.open(mbtiles(twice, format: "pbf"))
    #expect(try reader.tileFormat() == nil)
    let error = #expect(throws: BundleError.self) {
      try BundleConvert().write(reader, to: folder.file("o.pmtiles"))
    }
    #expect(error?.message.contains("compressed twice") == true)
    let report = try BundleVerifier(path: folder.file("x.mbtiles"), decode: BundleVerifierTests.decode).verify()
    #expect(report.outcomes.flatMap(\.findings).contains { $0.message.contains("compressed twice") })
  }

  @Test(arguments: ["o.mbtiles", "o.pmtiles", "o/"]) func plainVectorTilesAreCompressed(name: String) throws {
    let tile = Self.vectorTile
    try BundleConvert().write(BundleFile.open(mbtiles(tile, format: "pbf")), to: folder.file(name))
    let bytes = try #require(try BundleFile.open(folder.file(name)).tile(TileID(unchecked: 2, 0, 3)))
    #expect(try bytes.withUnsafeBytes { try Gunzip.bytes($0, byteCountMax: 100) } == tile)
    // Not what begins like one only.
    #expect([0x1a, 0x12, 0x0b, 0x01].withUnsafeBytes { TileFormat(sniffing: $0) } == nil)
  }

  /// As text, 10 comes before 2.
  @Test(arguments: ["TEXT", "REAL", "VARCHAR(10)", "INTEGER", ""]) func numbersOfAnyType(type: String) throws {
    let reader = try MBTilesReader(path: mbtiles(Images.grey256, format: "png", type: type))
    #expect(try reader.zooms() == [2, 10])
    #expect(try reader.range(zoom: 2) == TileRange(zoom: 2, columns: 0...3, rows: 0...3))
    #expect(try reader.tile(TileID(unchecked: 2, 3, 1)) == Images.grey256)
    #expect(try reader.levels().map(\.tiles) == [3, 3])
    try reader.prepareLookups()
    #expect(try reader.tile(TileID(unchecked: 10, 1, 1020)) == Images.grey256)
    try BundleConvert().write(reader, to: folder.file("o.pmtiles"))
    #expect(try BundleFile.open(folder.file("o.pmtiles")).knownTileCount == 6)
    let report = try BundleVerifier(path: folder.file("x.mbtiles"), decode: BundleVerifierTests.decode).verify()
    #expect(report.tiles == 6)
    let typed = report.outcomes.flatMap(\.findings).filter { $0.message.contains("is declared") }
    #expect(typed.count == (type == "INTEGER" || type == "" ? 0 : 3))
  }

  @Test func foldersKeepARowCalledScheme() throws {
    let path = try mbtiles(Images.grey256, format: "png")
    try Database(path).run("INSERT INTO metadata VALUES ('scheme', 'tms')")
    try BundleConvert().write(BundleFile.open(path), to: folder.file("f/"))
    let reader = try BundleFile.open(folder.file("f"))
    #expect(reader.metadata["scheme"] == "tms")
    #expect(try reader.tile(TileID(unchecked: 2, 1, 0)) == Images.grey256)
    try BundleConvert(scheme: .tms).write(reader, to: folder.file("g/"))
    try BundleConvert().write(BundleFile.open(folder.file("g")), to: folder.file("o.mbtiles"))
    let copy = try BundleFile.open(folder.file("o.mbtiles"))
    #expect(copy.metadata["scheme"] == "tms" && copy.metadata["metadata_scheme"] == nil)
    #expect(try copy.tile(TileID(unchecked: 2, 1, 0)) == Images.grey256)
  }
}
