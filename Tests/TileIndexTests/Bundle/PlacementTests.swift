import Foundation
import TestSupport
import Testing

@testable import TileIndex

/// Bundles of other makers whose rows or zooms are numbered otherwise than their containers say.
@Suite(.ownThread) struct PlacementTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Over Slovenia.
  private static let bounds = "13.5,45.2,13.8,45.5"
  private static let tiles = [
    TileID(unchecked: 8, 137, 91), TileID(unchecked: 9, 275, 182), TileID(unchecked: 9, 275, 183),
  ]

  private func mbtiles(
    rowsFromNorth: Bool, bounds: String? = bounds, tiles: [TileID] = tiles, index: Bool = true
  ) throws -> String {
    let path = folder.file("\(UUID()).mbtiles")
    let rows = tiles.map { tile in
      let row = rowsFromNorth ? tile.row : (1 << tile.zoom) - 1 - tile.row
      return "INSERT INTO tiles VALUES (\(tile.zoom), \(tile.column), \(row), \(ForeignBundle.hex(blob(1))));"
    }
    try Database(path).run(
      """
      CREATE TABLE metadata (name text, value text);
      CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
      \(index ? "CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);" : "")
      INSERT INTO metadata VALUES ('name', 'n'), ('format', 'png');
      \(bounds.map { "INSERT INTO metadata VALUES ('bounds', '\($0)');" } ?? "")
      """ + rows.joined())
    return path
  }

  private func found(_ bundle: any BundleReader) throws -> [TileID] {
    var tiles: [TileID] = []
    try bundle.forEachTile { tile, _ in tiles.append(tile) }
    return tiles
  }

  @Test(arguments: [true, false]) func rowsFromTheNorthAreReadWhereTheBoundsAre(index: Bool) throws {
    let reader = try MBTilesReader(path: mbtiles(rowsFromNorth: true, index: index))
    #expect(reader.placementWarning?.message.contains("numbers its rows from the north") == true)
    // By zoom, column and row from the south.
    #expect(try found(reader) == [Self.tiles[0], Self.tiles[2], Self.tiles[1]])
    for tile in Self.tiles { #expect(try reader.tile(tile) == blob(1)) }
    #expect(try reader.range(zoom: 9) == TileRange(zoom: 9, columns: 275...275, rows: 182...183))
    #expect(try reader.levels().map(\.range).last == TileRange(zoom: 9, columns: 275...275, rows: 182...183))
    #expect(try reader.sizedTiles().map(\.tile) == [Self.tiles[0], Self.tiles[2], Self.tiles[1]])
    let only = TileRange(zoom: 9, columns: 275...275, rows: 183...183)
    var inRange: [TileID] = []
    try reader.forEachTile(in: only) { tile, _ in inRange.append(tile) }
    #expect(inRange == [Self.tiles[2]])
    let straight = try MBTilesReader(path: mbtiles(rowsFromNorth: false))
    #expect(straight.placementWarning == nil)
    #expect(try TilesHash.of(reader) == TilesHash.of(straight))
    try BundleConvert().write(reader, to: folder.file("o.pmtiles"))
    #expect(try TilesHash.of(BundleFile.open(folder.file("o.pmtiles"))) == TilesHash.of(straight))
  }

  /// Bounds that say nothing of the rows, or nothing that is true, change nothing.
  @Test(arguments: [nil, "-180,-85,180,85", "nonsense", "13.5,45.2", "13.5,10,13.8,20", "100,-45.5,101,-45.2"])
  func otherBoundsChangeNothing(bounds: String?) throws {
    let reader = try MBTilesReader(path: mbtiles(rowsFromNorth: false, bounds: bounds))
    #expect(reader.placementWarning == nil)
    #expect(try reader.tile(Self.tiles[1]) == blob(1))
  }

  /// Of an area over the equator some rows are right in either direction.
  @Test(arguments: [false, true]) func areasOverTheEquator(rowsFromNorth: Bool) throws {
    let set = TileMatrixSet.webMercatorQuad
    let box = BoundingBox(west: 10.1, south: -10, east: 20, north: 30)
    let tiles = set.ranges(covering: box, zoom: 7).flatMap { Array($0) }
    let reader = try MBTilesReader(
      path: mbtiles(rowsFromNorth: rowsFromNorth, bounds: "10.1,-10,20,30", tiles: tiles))
    #expect((reader.placementWarning != nil) == rowsFromNorth)
    #expect(Set(try found(reader)) == Set(tiles))
  }

  @Test func verifyNamesTheRows() throws {
    let report = try BundleVerifier(path: mbtiles(rowsFromNorth: true), decode: BundleVerifierTests.decode).verify()
    let findings = report.outcomes.flatMap(\.findings)
    #expect(findings.contains { $0.severity == .error && $0.message.contains("from the north") })
  }

  // MARK: Folders

  private func put(_ name: String, _ bytes: [UInt8]) throws {
    let url = folder.url.appendingPathComponent("f/\(name)")
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
  }

  @Test(arguments: ["", #", "scheme": "xyz""#]) func foldersWithRowsFromTheSouth(scheme: String) throws {
    for tile in Self.tiles { try put("\(tile.zoom)/\(tile.column)/\((1 << tile.zoom) - 1 - tile.row).png", blob(1)) }
    try put("metadata.json", Array(#"{"name": "n", "bounds": "\#(Self.bounds)"\#(scheme)}"#.utf8))
    let reader = try TileFolderReader(path: folder.file("f"))
    #expect(reader.placementWarning?.message.contains("numbers its rows from the south") == true)
    #expect(Set(try found(reader)) == Set(Self.tiles))
  }

  /// As `gdal2tiles -p geodetic` writes it: the document is that of a folder with --tmscompatible.
  @Test(arguments: [1, 0]) func degreesWithOneTileAtZoomZero(shift: Int) throws {
    let set = TileMatrixSet.worldCRS84Quad
    let box = BoundingBox(west: 13.5, south: 45.2, east: 13.8, north: 45.5)
    let tiles = (5...8).flatMap { zoom in set.ranges(covering: box, zoom: zoom).flatMap { Array($0) } }
    for tile in tiles {
      let row = set[tile.zoom].matrixHeight - 1 - tile.row
      try put("\(tile.zoom + shift)/\(tile.column)/\(row).png", blob(1))
    }
    let resource = """
      <TileMap><SRS>EPSG:4326</SRS><BoundingBox minx="13.5" miny="45.2" maxx="13.8" maxy="45.5"/>
      <TileSets profile="geodetic"><TileSet href="5" units-per-pixel="0.02197265625" order="5"/></TileSets></TileMap>
      """
    try put("tilemapresource.xml", Array(resource.utf8))
    let reader = try TileFolderReader(path: folder.file("f"))
    #expect((reader.placementWarning != nil) == (shift == 1))
    #expect(Set(try found(reader)) == Set(tiles))
    #expect(try reader.zooms() == [5, 6, 7, 8])
    for tile in tiles { #expect(try reader.tile(tile) == blob(1)) }
    let report = try BundleVerifier(path: folder.file("f"), decode: BundleVerifierTests.decode).verify()
    let findings = report.outcomes.filter { $0.rule.id != "decode" }.flatMap(\.findings)
    #expect(!findings.contains { $0.severity == .error }, "\(findings)")
  }
}
