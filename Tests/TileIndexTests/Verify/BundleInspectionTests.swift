import Foundation
import TestSupport
import Testing

@testable import TileIndex

@Suite(.ownThread) struct BundleInspectionTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test func writtenBundlesAreDescribed() throws {
    let path = folder.file("own.mbtiles")
    let writer = try BundleWriter(path: path, matrixSet: .webMercatorQuad, format: .png)
    for tile in TileRange(zoom: 4, columns: 3...6, rows: 8...9) { try writer.put(tile, Images.grey256) }
    try writer.put(TileID(unchecked: 3, 1, 4), Images.grey256("other"))
    _ = try writer.finish(BundleMetadata(name: "own"))
    let found = try BundleInspection(MBTilesReader(path: path))
    #expect(found.path == path)
    #expect(found.fileBytes == (try folder.bytes("own.mbtiles").count))
    #expect(found.pageBytes == 4096)
    #expect(found.layout == .mapAndImages)
    #expect(found.applicationID == 0x4D50_4258)
    #expect(found.tileMatrixSet == "WebMercatorQuad" && found.crs == "EPSG:3857")
    #expect(found.tiles == 9 && found.distinctTiles == 2)
    #expect(found.blobBytes == 2 * Images.grey256.count + 5)
    let bytes = Images.grey256.count
    let levels: [BundleInspection.Level] = [
      .init(zoom: 3, tiles: 1, bytes: bytes + 5, minColumn: 1, maxColumn: 1, minRow: 4, maxRow: 4),
      .init(zoom: 4, tiles: 8, bytes: 8 * bytes, minColumn: 3, maxColumn: 6, minRow: 8, maxRow: 9),
    ]
    #expect(found.levels == levels)
    #expect(found.kinds == [.init(format: .png, width: 256, height: 256, blobs: 2)])
    #expect(found.metadata.first == StoredMetadata.Entry(name: "name", value: "own"))
    let json = try JSONEncoder().encode(found)
    #expect(try JSONDecoder().decode(BundleInspection.self, from: json) == found)
  }

  /// 301 tiles of 300 blobs; the number of those that are read is known before, except of a folder.
  @Test(arguments: [("a.mbtiles", 300), ("a.pmtiles", 300), ("a.gpkg", 301), ("a/", nil)] as [(String, Int?)])
  func tilesAreCountedWhileTheyAreRead(name: String, known: Int?) throws {
    let source = folder.file("source.mbtiles")
    let writer = try BundleWriter(path: source, matrixSet: .webMercatorQuad, format: .png)
    for tile in TileRange(zoom: 5, columns: 0...29, rows: 0...9) {
      try writer.put(tile, Images.grey256("\(tile.column) \(tile.row)"))
    }
    try writer.put(TileID(unchecked: 4, 0, 0), Images.grey256("0 0"))
    _ = try writer.finish(BundleMetadata(name: "own"))
    try BundleConvert().write(BundleFile.open(source), to: folder.file(name))
    let bundle = try BundleFile.open(folder.file(name))
    var counts: [Int] = []
    let found = try BundleInspection(bundle) { counts.append($0) }
    #expect(found.tiles == 301 && found.distinctTiles == 300)
    #expect(counts == [256])
    #expect(bundle.knownReadCount == known)
  }

  @Test func mixedFormatsAreCounted() throws {
    try Database(folder.file("mixed.mbtiles")).run(
      """
      CREATE TABLE tiles (zoom_level, tile_column, tile_row, tile_data);
      INSERT INTO tiles VALUES (1, 0, 0, \(ForeignBundle.hex(Images.jpeg(width: 512, height: 512)))),
        (1, 1, 0, \(ForeignBundle.hex(Images.jpeg(width: 512, height: 512)))),
        (1, 0, 1, \(ForeignBundle.hex(Images.png(width: 256, height: 128)))), (1, 1, 1, X'00'), (7, 500, 0, X'00');
      """)
    let found = try BundleInspection(MBTilesReader(path: folder.file("mixed.mbtiles")))
    #expect(found.layout == .flat)
    #expect(found.tiles == 5 && found.distinctTiles == 3)
    #expect(
      found.kinds == [
        .init(format: .jpg, width: 512, height: 512, blobs: 2), .init(format: nil, width: nil, height: nil, blobs: 2),
        .init(format: .png, width: 256, height: 128, blobs: 1),
      ])
    #expect(found.levels.map(\.zoom) == [1])
    #expect(found.metadata.isEmpty)
  }

  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)),
    arguments: [
      ("geography-class-png", 5, 5, TileFormat.png), ("geography-class-webp", 5, 5, .webp), ("plain_1", 285, 207, .png),
      ("globe", 21, 21, .png), ("world_l1", 5, 5, .jpg), ("world_l1_webp", 4, 4, .webp),
      ("world_cities", 196, 196, .pbf),
    ])
  func realBundlesAreDescribed(name: String, tiles: Int, distinct: Int, format: TileFormat) throws {
    let found = try BundleInspection(MBTilesReader(path: TestData.url("maps/tilesets/\(name).mbtiles").path))
    #expect(found.tiles == tiles && found.distinctTiles == distinct)
    #expect(found.kinds.map(\.format) == [format])
    #expect(found.kinds.first?.width == (format == .pbf ? nil : 256))
    #expect(found.levels.reduce(0) { $0 + $1.tiles } == tiles)
  }
}
