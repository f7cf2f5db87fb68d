import Foundation
import TestSupport
import Testing

@testable import TileIndex

/// GeoPackages of other makers, as SQL writes them.
@Suite(.ownThread) struct GeoPackageReaderTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// A GeoPackage with the tiles of ``ForeignBundle``.
  ///
  /// - Parameter tables: of tiles.
  @discardableResult
  private func write(
    _ name: String, tables: [String] = ["my tiles"], srs: Int = 3857, box: [Double] = GeoPackageReaderTests.mercator,
    pixel: (x: Double, y: Double) = (156543.03392804097, 156543.03392804097), zooms: ClosedRange<Int> = 0...2,
    more: String = ""
  ) throws -> String {
    let database = try Database(folder.file(name))
    try database.run(GeoPackageSchema.statements.joined(separator: ";"))
    try database.run("DROP TABLE tile_pyramid; DROP TABLE gpkg_metadata; DROP TABLE gpkg_metadata_reference")
    for id in [-1, 0, 4326] + (srs == 4326 ? [] : [srs]) {
      try database.run("INSERT INTO gpkg_spatial_ref_sys VALUES ('a', \(id), 'EPSG', \(id), 'undefined', '')")
    }
    let numbers = box.map { "\($0)" }.joined(separator: ", ")
    for (number, table) in tables.enumerated() {
      try database.run(
        """
        CREATE TABLE "\(table)" (id INTEGER PRIMARY KEY AUTOINCREMENT, zoom_level INTEGER NOT NULL,
          tile_column INTEGER NOT NULL, tile_row INTEGER NOT NULL, tile_data BLOB NOT NULL,
          UNIQUE (zoom_level, tile_column, tile_row));
        INSERT INTO gpkg_contents VALUES ('\(table)', 'tiles', 'Map \(number)', 'of others', '2020-01-01T00:00:00.000Z',
          \(numbers), \(srs));
        INSERT INTO gpkg_tile_matrix_set VALUES ('\(table)', \(srs), \(numbers));
        """)
      for zoom in zooms {
        let (x, y) = (pixel.x / Double(1 << zoom), pixel.y / Double(1 << zoom))
        try database.run(
          "INSERT INTO gpkg_tile_matrix VALUES ('\(table)', \(zoom), \(1 << zoom), \(1 << zoom), 256, 256, \(x), \(y))")
      }
      for (tile, bytes) in ForeignBundle.tiles where zooms.contains(tile.zoom) {
        try database.run(
          """
          INSERT INTO "\(table)" (zoom_level, tile_column, tile_row, tile_data)
          VALUES (\(tile.zoom), \(tile.column), \(tile.row), \(ForeignBundle.hex(number == 0 ? bytes : blob(99))))
          """)
      }
    }
    try database.run(more)
    return folder.file(name)
  }

  private static let mercator = [-20037508.342789244, -20037508.342789244, 20037508.342789244, 20037508.342789244]

  private func error(_ path: String) -> BundleError? { #expect(throws: BundleError.self) { try BundleFile.open(path) } }

  @Test func tilesAndMetadataAreFound() throws {
    let path = try write("a.gpkg")
    #expect(BundleFile.kind(path) == .geopackage)
    let reader = try BundleFile.open(path)
    #expect(reader.matrixSet == .webMercatorQuad)
    #expect(try reader.zooms() == [0, 1, 2])
    #expect(try reader.range(zoom: 2) == TileRange(zoom: 2, columns: 1...3, rows: 0...3))
    for (tile, bytes) in ForeignBundle.tiles {
      #expect(try reader.tile(tile) == bytes)
      let result = try reader.withResidentTile(tile) { Array($0) }
      #expect(result == .wouldWait || result == .found(bytes))
    }
    #expect(try reader.tile(TileID(unchecked: 2, 0, 0)) == nil && reader.tile(TileID(unchecked: 9, 0, 0)) == nil)
    #expect(reader.metadata.name == "Map 0" && reader.metadata.format == .png)
    #expect(reader.metadata.description == "of others" && reader.metadata.maxZoom == 2)
    // The order of all readers: by column, then by row from the south.
    var order: [TileID] = []
    try reader.forEachTile { tile, _ in order.append(tile) }
    #expect(order == order.sorted { ($0.zoom, $0.column, -$0.row) < ($1.zoom, $1.column, -$1.row) })
    #expect(order.count == ForeignBundle.tiles.count)
    var part: [TileID] = []
    try reader.forEachTile(in: TileRange(zoom: 2, columns: 2...9, rows: 0...9)) { tile, _ in part.append(tile) }
    #expect(part == [TileID(unchecked: 2, 2, 0), TileID(unchecked: 2, 3, 3)])
  }

  /// Of several tables the first is read; others by GDAL's names.
  @Test func severalTablesOfTilesHaveNames() throws {
    let path = try write("a.gpkg", tables: ["one", "two"])
    let tile = TileID(unchecked: 0, 0, 0)
    #expect(try BundleFile.open(path).tile(tile) == blob(1))
    let second = try #require(try BundleFile.open("GPKG:\(path):two") as? GeoPackageReader)
    #expect(try second.tile(tile) == blob(99))
    #expect(second.path == path && second.table == "two" && second.tables == ["one", "two"])
    #expect(second.metadata.name == "Map 1")
    let missing = error("GPKG:\(path):three")
    #expect(missing?.code == .notFound && missing?.remedy?.contains("one, two") == true)
    let report = try BundleVerifier(path: path) { _, _ in nil }.verify()
    #expect(report.outcomes.flatMap(\.findings).contains { $0.message.contains("2 tables") })
    let inspection = try BundleInspection(second)
    #expect(inspection.tables == ["two", "one"] && inspection.container == .geopackage && inspection.tiles == 6)
  }

  /// A file that has no raster tiles, or tiles that cannot be placed.
  @Test func otherContentsAreRefusedWithAReason() throws {
    let contents = "INSERT INTO gpkg_contents VALUES ('roads', '%', 'r', '', '2020-01-01T00:00:00.000Z', 0, 0, 1, 1, 0)"
    for (kind, word) in [("features", "GIS"), ("2d-gridded-coverage", "gdal_translate"), ("attributes", "GIS")] {
      let path = try write("\(kind).gpkg", tables: [], more: contents.replacingOccurrences(of: "%", with: kind))
      let error = error(path)
      #expect(error?.code == .malformed && error?.message.contains("no raster tiles") == true)
      #expect(error?.message.contains(kind) == true && error?.remedy?.contains(word) == true)
    }
    let utm = error(try write("utm.gpkg", srs: 32613))
    #expect(utm?.message.contains("EPSG:32613") == true && utm?.remedy?.contains("gdalwarp") == true)
    let oblong = error(try write("oblong.gpkg", srs: 4326, box: [0, 0, 20, 10], pixel: (20.0 / 256, 10.0 / 256)))
    #expect(oblong?.message.contains("not square") == true)
    let bare = try write("bare.gpkg", more: "DELETE FROM gpkg_tile_matrix")
    #expect(error(bare)?.message.contains("no levels") == true)
    let empty = try Database(folder.file("empty.gpkg"))
    try empty.run("PRAGMA application_id = 1196444487; CREATE TABLE a (b)")
    #expect(error(folder.file("empty.gpkg"))?.message.contains("gpkg_contents") == true)
  }

  /// GDAL's own grids begin at the raster's corner, and tools leave out the zooms above the first with tiles.
  @Test(arguments: [0...2, 2...2]) func gridsOfTheirOwnAreRead(zooms: ClosedRange<Int>) throws {
    let path = try write("a.gpkg", srs: 4326, box: [10, 20, 15, 25], pixel: (5.0 / 256, 5.0 / 256), zooms: zooms)
    let reader = try BundleFile.open(path)
    let set = reader.matrixSet
    #expect(set.crs == "OGC:CRS84" && set.identifier == "my tiles" && set.zooms == 0...2)
    #expect(set[2].matrixWidth == 4 && set[2].origin == SIMD2(10, 25) && set[2].tileSpanX == 1.25)
    #expect(reader.metadata["bounds"] == "10,20,15,25")
    let copy = folder.file("b.mbtiles")
    try BundleConvert().write(reader, to: copy)
    let back = try BundleFile.open(copy)
    #expect(back.matrixSet == set)
    #expect(try TilesHash.of(back) == TilesHash.of(reader))
  }

  /// QGIS leaves a log beside the file that it has open.
  @Test func filesWithALogAreRecognised() throws {
    let path = try write("a.gpkg")
    let live = try Database(path)
    try live.run("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
    try live.run("DELETE FROM \"my tiles\" WHERE zoom_level = 2")
    #expect(BundleFile.kind(path) == .geopackage)
    #expect(try BundleFile.open(path).zooms() == [0, 1])
    withExtendedLifetime(live) {}
  }

  /// Every rule finds what it is for.
  @Test(arguments: [
    ("UPDATE \"my tiles\" SET tile_column = 9 WHERE zoom_level = 0", "tile-range", "outside"),
    ("UPDATE \"my tiles\" SET tile_data = X'' WHERE zoom_level = 0", "tile-range", "no bytes"),
    ("DELETE FROM gpkg_tile_matrix WHERE zoom_level = 1", "tile-matrix", "zoom 1"),
    ("UPDATE gpkg_tile_matrix SET matrix_width = 3 WHERE zoom_level = 1", "tile-matrix", "does not fill"),
    ("DELETE FROM gpkg_spatial_ref_sys WHERE srs_id = -1", "geopackage", "no row for -1"),
    ("DELETE FROM gpkg_spatial_ref_sys WHERE srs_id = 4326", "geopackage", "no row for 4326"),
    ("PRAGMA user_version = 0", "geopackage", "user_version"),
    ("UPDATE gpkg_contents SET min_x = NULL", "geopackage", "extent"),
    ("INSERT INTO gpkg_tile_matrix VALUES ('none', 1, 2, 2, 256, 256, 1, 1)", "geopackage", "refer"),
  ])
  func damageIsFound(sql: String, rule: String, word: String) throws {
    let path = try write("a.gpkg", more: sql)
    let report = try BundleVerifier(path: path) { _, _ in nil }.verify()
    let found = report.outcomes.flatMap(\.findings)
    #expect(found.contains { $0.rule == rule && $0.message.contains(word) }, "\(found)")
  }

  /// PNG and JPEG may stand in one table without a word; what is made of it says so.
  @Test func mixedFormatsAreValid() throws {
    let jpeg = ForeignBundle.hex(Images.jpeg(width: 256, height: 256))
    let path = try write("a.gpkg", more: "UPDATE \"my tiles\" SET tile_data = \(jpeg) WHERE zoom_level = 2")
    let report = try BundleVerifier(path: path) { _, _ in nil }.verify()
    #expect(!report.outcomes.flatMap(\.findings).contains { $0.rule == "blob-format" })
    try BundleConvert().write(BundleFile.open(path), to: folder.file("b.mbtiles"))
    let copy = try BundleFile.open(folder.file("b.mbtiles"))
    #expect(copy.metadata.format == .png && copy.metadata["formats"] == "jpg,png")
    #expect(try TilesHash.of(copy) == TilesHash.of(BundleFile.open(path)))
  }

  /// Of two tables one has PNG and JPEG, the other JPEG alone; what is made of both says which formats it has.
  @Test(arguments: ["b.gpkg", "b.mbtiles", "b.pmtiles", "b/"], [false, true])
  func tablesOfMixedFormatsAreMerged(_ output: String, reversed: Bool) throws {
    let jpeg = Images.jpeg(width: 256, height: 256)
    let hex = ForeignBundle.hex(jpeg)
    let path = try write(
      "a.gpkg", tables: ["one", "two"],
      more: """
        UPDATE one SET tile_data = \(hex) WHERE zoom_level = 1;
        DELETE FROM one WHERE zoom_level = 2; UPDATE two SET tile_data = \(hex)
        """)
    let tables = try ["one", "two"].map { try BundleFile.open("GPKG:\(path):\($0)") }
    let bundles: [any BundleReader] = reversed ? tables.reversed() : tables
    try BundleMerge(conflict: reversed ? .last : .first).write(bundles, to: folder.file(output))
    let merged = try BundleFile.open(folder.file(output))
    for (tile, bytes) in ForeignBundle.tiles {
      #expect(try merged.tile(tile) == (tile.zoom == 0 ? bytes : jpeg), "\(tile)")
    }
    #expect(merged.metadata["formats"] == "jpg,png")
    let report = try BundleVerifier(path: folder.file(output)) { _, _ in nil }.verify()
    #expect(!report.outcomes.flatMap(\.findings).contains { $0.rule == "blob-format" }, "\(report)")
  }

  /// A change of the metadata reaches our rows and what other programs show; foreign files get rows.
  @Test func metadataAreEdited() throws {
    let foreign = try write("a.gpkg")
    let own = folder.file("b.gpkg")
    try BundleConvert().write(BundleFile.open(foreign), to: own)
    for path in [foreign, own] {
      let hash = try TilesHash.of(BundleFile.open(path))
      try MetadataEdit(name: "name", value: "Ätna").apply(to: path)
      try MetadataEdit(name: "attribution", value: "us").apply(to: path)
      let reader = try BundleFile.open(path)
      #expect(reader.metadata.name == "Ätna" && reader.metadata.attribution == "us")
      #expect(try TilesHash.of(reader) == hash)
      #expect(try Database(path).run("SELECT identifier FROM gpkg_contents") == [["Ätna"]])
      #expect(try Database(path).run("PRAGMA foreign_key_check") == [])
      #expect(
        try Database(path).run("SELECT count(*) FROM gpkg_extensions WHERE extension_name = 'gpkg_metadata'")
          == [["2"]])
    }
  }
}
