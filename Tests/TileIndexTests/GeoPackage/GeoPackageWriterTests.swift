import Foundation
import TestSupport
import Testing

@testable import TileIndex

/// What ``BundleWriter`` makes of a GeoPackage, read with SQLite.
@Suite(.ownThread) struct GeoPackageWriterTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @discardableResult
  private func write(
    _ name: String, _ format: TileFormat = .png, matrixSet: TileMatrixSet = .webMercatorQuad, edge: Int = 256,
    metadata: BundleMetadata = BundleMetadata(name: "A map", description: "what it shows")
  ) throws -> Database {
    let sink = try BundleFile.create(folder.file(name), matrixSet: matrixSet, format: format)
    for zoom in 1...3 {
      for tile in try [(0, 0), (1, 0), (1, 1)].map({ try TileID(zoom: zoom, column: $0.0, row: $0.1, in: matrixSet) }) {
        try sink.put(tile, SampleTiles.image(zoom + tile.column, format, edge: edge))
      }
    }
    _ = try sink.finish(metadata)
    return try Database(folder.file(name))
  }

  /// An image that lies nowhere on Earth is in the undefined Cartesian system, and is read again.
  @Test func flatImagesLieNowhereOnEarth() throws {
    let metadata = BundleMetadata(name: "plan", extra: [FlatImage.metadataKey: "700,600"])
    let database = try write("flat.gpkg", metadata: metadata)
    #expect(try database.run("SELECT srs_id FROM gpkg_tile_matrix_set") == [["-1"]])
    #expect(try database.run("PRAGMA foreign_key_check") == [])
    let reader = try GeoPackageReader(path: folder.file("flat.gpkg"))
    #expect(reader.matrixSet == .webMercatorQuad && reader.metadata[FlatImage.metadataKey] == "700,600")
  }

  /// The rows that OGC 12-128r18 requires, in the order of the tables.
  @Test func tablesAreThoseOfTheSpecification() throws {
    let database = try write("a.gpkg")
    func rows(_ sql: String) throws -> [String] { try database.run(sql).map { $0.joined(separator: "|") } }
    #expect(try rows("PRAGMA application_id") == ["1196444487"])
    #expect(try rows("PRAGMA user_version") == ["10300"])
    #expect(try rows("PRAGMA integrity_check") == ["ok"])
    #expect(try rows("PRAGMA foreign_key_check") == [])
    #expect(
      try rows("SELECT srs_id, organization, organization_coordsys_id FROM gpkg_spatial_ref_sys")
        == ["-1|NONE|-1", "0|NONE|0", "3857|EPSG|3857", "4326|EPSG|4326"])
    #expect(
      try rows("SELECT table_name, data_type, identifier, description, last_change, srs_id FROM gpkg_contents")
        == ["tile_pyramid|tiles|A map|what it shows|1970-01-01T00:00:00.000Z|3857"])
    #expect(
      try rows("SELECT srs_id, min_x = -max_x, min_y = min_x, max_y = max_x, max_x FROM gpkg_tile_matrix_set")
        == ["3857|1|1|1|20037508.3427892"])
    #expect(
      try rows("SELECT zoom_level, matrix_width, matrix_height, tile_width, pixel_x_size FROM gpkg_tile_matrix")
        == ["1|2|2|256|78271.5169640205", "2|4|4|256|39135.7584820102", "3|8|8|256|19567.8792410051"])
    // Rows count from the north.
    #expect(
      try rows("SELECT tile_column, tile_row FROM tile_pyramid WHERE zoom_level = 3 ORDER BY id")
        == ["0|0", "1|0", "1|1"])
    #expect(
      try rows("SELECT extension_name FROM gpkg_extensions") == ["gpkg_metadata", "gpkg_metadata"])
    // No reader of MBTiles takes it for its own.
    #expect(try rows("SELECT count(*) FROM sqlite_master WHERE name IN ('tiles', 'metadata')") == ["0"])
  }

  /// The extent in `gpkg_contents` is that of the bounds in whole pixels of the finest zoom, which GDAL relies on.
  @Test func extentsAreWholePixels() throws {
    let box = BoundingBox(west: -170.1, south: 20, east: -120, north: 80)
    let database = try write("a.gpkg", metadata: BundleMetadata(name: "A", bounds: box))
    let numbers = try database.run("SELECT min_x, min_y, max_x, max_y FROM gpkg_contents")[0].compactMap(Double.init)
    let reader = try GeoPackageReader(path: folder.file("a.gpkg"))
    let stored = try #require(reader.metadata.bounds)
    let exact = reader.matrixSet.crsBounds(ofGeographicBounds: stored)
    let cell = reader.matrixSet[3].cellSize
    for (number, edge) in zip(numbers, [exact.west, exact.south, exact.east, exact.north]) {
      let pixels = (number + 20037508.342789244) / cell
      #expect(abs(pixels - pixels.rounded()) < 1e-6 && abs(number - edge) < cell)
    }
  }

  @Test func webPAndOtherStepsAreRegistered() throws {
    let webp = try write("webp.gpkg", .webp)
    let names = "SELECT extension_name FROM gpkg_extensions WHERE table_name = 'tile_pyramid'"
    #expect(try webp.run(names) == [["gpkg_webp"]])
    let degrees = try write("degrees.gpkg", matrixSet: .degrees, edge: 288)
    #expect(try degrees.run(names) == [["gpkg_zoom_other"]])
    // 12 columns of 32° reach beyond the world, so those of all levels do.
    #expect(
      try degrees.run("SELECT min_x, min_y, max_x, max_y FROM gpkg_tile_matrix_set")
        == [["-180.0", "-102.0", "204.0", "90.0"]])
    #expect(
      try degrees.run("SELECT matrix_width, matrix_height FROM gpkg_tile_matrix")
        == [["48", "24"], ["192", "96"], ["768", "384"]])
    #expect(try write("crs84.gpkg", matrixSet: .worldCRS84Quad).run(names) == [])
    for name in ["webp.gpkg", "degrees.gpkg", "crs84.gpkg"] {
      let report = try BundleVerifier(path: folder.file(name)) { _, _ in nil }.verify()
      // Tiles in a corner of every zoom lie in no common bounds.
      let findings = report.outcomes.flatMap(\.findings).filter { $0.rule != "bounds" }
      #expect(findings.isEmpty, "\(findings)")
    }
  }

  /// Tiles of twice the pixels have their size in the tables.
  @Test func tilesOf512PixelsAreStated() throws {
    let database = try write("a.gpkg", edge: 512)
    #expect(
      try database.run("SELECT DISTINCT matrix_width << 9 - zoom_level, tile_width, tile_height FROM gpkg_tile_matrix")
        == [["512", "512", "512"]])
    #expect(try GeoPackageReader(path: folder.file("a.gpkg")).matrixSet == .webMercatorQuad)
  }

  @Test func bytesDependOnTilesAndMetadataAlone() throws {
    try write("a.gpkg")
    try write("b.gpkg")
    #expect(try folder.bytes("a.gpkg") == folder.bytes("b.gpkg"))
  }

  @Test func whatCannotBeStoredIsRefused() throws {
    let sink = try BundleFile.create(folder.file("a.gpkg"), matrixSet: .webMercatorQuad, format: .png)
    for tile in [(2, 1, 3), (0, 0, 0), (2, 1, 3), (2, 0, 0)] {
      try sink.put(TileID(unchecked: tile.0, tile.1, tile.2), blob(1))
    }
    let twice = #expect(throws: BundleError.self) { try sink.finish(BundleMetadata(name: "A")) }
    #expect(twice?.code == .invalidContent && twice?.message == "tile 2/1/3 was put twice")
    #expect(twice?.path == folder.file("a.gpkg") && folder.names == [])
    let discarded = try BundleFile.create(folder.file("a.gpkg"), matrixSet: .webMercatorQuad, format: .png)
    try discarded.put(TileID(unchecked: 0, 0, 0), blob(1))
    discarded.discard()
    #expect(folder.names == [])
    let vector = #expect(throws: BundleError.self) {
      try BundleFile.create(folder.file("b.gpkg"), matrixSet: .webMercatorQuad, format: .pbf)
    }
    #expect(vector?.code == .mismatch && vector?.remedy != nil)
    #expect(folder.names == [])
  }
}
