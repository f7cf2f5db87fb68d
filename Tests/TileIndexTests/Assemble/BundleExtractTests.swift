import Foundation
import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct BundleExtractTests {
  let folder: TemporaryFolder
  let whole: any BundleReader

  init() throws {
    folder = try TemporaryFolder()
    let writer = try BundleWriter(path: folder.file("whole.mbtiles"), matrixSet: .webMercatorQuad, format: .png)
    for zoom in 0...4 {
      for tile in TileMatrixSet.webMercatorQuad.wholeRange(zoom: zoom) {
        try writer.put(tile, blob(UInt8(tile.column + 16 * tile.row & 255)))
      }
    }
    _ = try writer.finish(
      BundleMetadata(
        name: "World", attribution: "© a", version: "3", center: .init(longitude: 100, latitude: 50, zoom: 3)))
    whole = try BundleFile.open(folder.file("whole.mbtiles"))
  }

  @Test func metadataDescribeTheExtract() throws {
    let box = BoundingBox(west: 10, south: 10, east: 20, north: 20)
    try BundleExtract(area: TileArea(bounds: box), zooms: 2...4).write(whole, to: folder.file("part.mbtiles"))
    let metadata = try BundleFile.open(folder.file("part.mbtiles")).metadata
    #expect(metadata.bounds == box && metadata.minZoom == 2 && metadata.maxZoom == 4)
    #expect(metadata.name == "World" && metadata.version == "3" && metadata.attribution == "© a")
    let center = try #require(metadata.center)
    #expect(box.contains(SIMD2(center.longitude, center.latitude)))
    // Without an area only the zooms change.
    try BundleExtract(zooms: 3...3).write(whole, to: folder.file("zoom.mbtiles"))
    let zoom = try BundleFile.open(folder.file("zoom.mbtiles")).metadata
    #expect(zoom.bounds == whole.metadata.bounds && zoom.center?.longitude == 100)
  }

  /// Both spellings of an area over the antimeridian give one extract, and one a turn away the same as at home.
  @Test(arguments: [(170.0, 190.0), (170.0, -170.0), (-190.0, -170.0), (530.0, 190.0)])
  func boundsMeetTheTilesOverTheAntimeridian(west: Double, east: Double) throws {
    let box = BoundingBox(west: west, south: -20, east: east, north: -10)
    try BundleExtract(area: TileArea(bounds: box), zooms: 4...4).write(whole, to: folder.file("part.mbtiles"))
    let part = try BundleFile.open(folder.file("part.mbtiles"))
    #expect(part.metadata.bounds?.west == -180 && part.metadata.bounds?.east == 180)
    #expect(try part.range(zoom: 4)?.columns == 0...15)
    let report = try BundleVerifier(path: part.path, decode: { _, _ in nil }).verify()
    #expect(!report.outcomes.flatMap(\.findings).contains { $0.message.contains("outside the bounds") })
  }

  @Test func boundsATurnAwayAreThoseAtHome() throws {
    let box = BoundingBox(west: 185, south: 10, east: 190, north: 20)
    try BundleExtract(area: TileArea(bounds: box), zooms: 4...4).write(whole, to: folder.file("part.mbtiles"))
    let metadata = try BundleFile.open(folder.file("part.mbtiles")).metadata
    #expect(metadata.bounds == BoundingBox(west: -175, south: 10, east: -170, north: 20))
  }

  /// A diamond with a hole.
  @Test func polygonsExcludeTheCornersOfTheirBox() throws {
    let polygon = try folder.write(
      "area.geojson",
      #"""
      {"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {}, "geometry":
      {"type": "Polygon", "coordinates": [
        [[-60, 0], [0, -50], [60, 0], [0, 50], [-60, 0]], [[-5, 5], [5, 5], [5, -5], [-5, -5], [-5, 5]]]}}]}
      """#)
    try BundleExtract(area: TileArea(polygonFile: polygon), zooms: 4...4).write(whole, to: folder.file("part.mbtiles"))
    let tiles = try BundleContents(folder.file("part.mbtiles")).tiles
    func tile(_ longitude: Double, _ latitude: Double) -> TileID {
      TileMatrixSet.webMercatorQuad.tile(longitude: longitude, latitude: latitude, zoom: 4)!
    }
    #expect(tiles[tile(-30, 5)] != nil && tiles[tile(30, -5)] != nil && tiles[tile(1, 1)] != nil)
    #expect(tiles[tile(-55, 45)] == nil && tiles[tile(55, -45)] == nil && tiles[tile(-70, 0)] == nil)
  }

  /// A tile is selected if box and polygon intersect within it, not if each of them intersects it.
  @Test func boxAndPolygonAreIntersected() throws {
    let polygon = try folder.write(
      "area.geojson", #"{"type": "Polygon", "coordinates": [[[-60, 10], [60, 10], [60, 50], [-60, 50], [-60, 10]]]}"#)
    func zooms(_ box: BoundingBox) throws -> [Int] {
      let area = try TileArea(bounds: box, polygonFile: polygon)
      do {
        try BundleExtract(area: area).write(whole, to: folder.file("part.mbtiles"), replacing: true)
      } catch let error as BundleError where error.code == .invalidContent {
        return []
      }
      return try BundleFile.open(folder.file("part.mbtiles")).zooms()
    }
    #expect(try zooms(BoundingBox(west: 50, south: 40, east: 100, north: 60)) == [0, 1, 2, 3, 4])
    #expect(try zooms(BoundingBox(west: 100, south: 10, east: 120, north: 60)).isEmpty)
    #expect(try zooms(BoundingBox(west: 170, south: 10, east: -170, north: 60)).isEmpty)
    #expect(try zooms(BoundingBox(west: 100, south: 10, east: -50, north: 20)) == [0, 1, 2, 3, 4])
  }

  @Test func areasMayCrossTheAntimeridian() throws {
    let box = BoundingBox(west: 170, south: -10, east: -170, north: 10)
    try BundleExtract(area: TileArea(bounds: box), zooms: 4...4).write(whole, to: folder.file("part.mbtiles"))
    #expect(Set(try BundleContents(folder.file("part.mbtiles")).tiles.keys.map(\.column)) == [0, 15])
  }

  @Test(arguments: [
    (#"{"type": "Polygon"}"#, "document.coordinates"),
    (#"{"type": "Point", "coordinates": [1, 2]}"#, "no Polygon"),
    (#"{"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [2, 2]]]}"#, "document.coordinates[0]"),
    (
      #"""
      {"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": {"type": "Polygon", \#
      "coordinates": [[[0, 99], [1, 1], [2, 2], [0, 99]]]}}]}
      """#,
      "features[0].geometry.coordinates[0][0]"
    ),
    ("{\n\"type\": }", "line 2"), ("", "line 1"),
  ])
  func invalidPolygonsAreReportedWithTheirPosition(_ text: String, _ place: String) throws {
    let path = try folder.write("area.json", text)
    let error = #expect(throws: BundleError.self) { try TileArea(polygonFile: path) }
    #expect(error?.code == .malformed && error?.path == path && error?.message.contains(place) == true, "\(error!)")
  }

  /// Bundles of other tools without a unique index may have a tile twice.
  @Test func duplicateTilesAreReportedAsErrorsOfTheInput() throws {
    let foreign = folder.file("foreign.mbtiles")
    let database = try Database(foreign)
    try database.run(ForeignBundle.flat(index: false))
    try database.run("INSERT INTO tiles SELECT * FROM tiles WHERE zoom_level = 1 AND tile_column = 0")
    let bundle = try BundleFile.open(foreign)
    let (output, patch) = (folder.file("out.mbtiles"), folder.file("out.patch"))
    let box = TileArea(bounds: BoundingBox(west: -180, south: -80, east: 0, north: 0))
    let (old, new) = (foreign, folder.file("whole.mbtiles"))
    for attempt: () throws -> Void in [
      { try BundleExtract().write(bundle, to: output) },
      { try BundleExtract(area: box, zooms: 1...1).write(bundle, to: output) },
      { try BundleMerge(conflict: .error).write([bundle], to: output) },
      { try BundleMerge(conflict: .last).write([bundle], to: output) },
      { try BundleMerge(conflict: .combine { $2 }).write([bundle, bundle], to: output) },
      { _ = try BundlePatch.diff(old: old, new: new, output: patch) },
      { _ = try BundlePatch.diff(old: new, new: old, output: patch) },
    ] {
      let error = #expect(throws: BundleError.self) { try attempt() }
      #expect(error?.code == .malformed && error?.path == foreign && error?.message == "has tile 1/0/1 twice")
      #expect(error?.remedy?.hasPrefix("verify it to find all such tiles") == true)
      #expect(folder.names == ["foreign.mbtiles", "whole.mbtiles"])
    }
    // Areas without the repeated tile are extracted.
    let other = TileArea(bounds: BoundingBox(west: 10, south: 10, east: 80, north: 80))
    #expect(try BundleExtract(area: other, zooms: 1...1).write(bundle, to: output).tiles == 1)
  }

  @Test func emptyExtractsAreRefused() throws {
    let area = TileArea(bounds: BoundingBox(west: 0, south: 86, east: 1, north: 87))
    let error = #expect(throws: BundleError.self) {
      try BundleExtract(area: area).write(whole, to: folder.file("part.mbtiles"))
    }
    #expect(error?.code == .invalidContent && error?.remedy?.contains("bounds and zooms") == true)
    #expect(folder.names == ["whole.mbtiles"])
    let itself = #expect(throws: BundleError.self) {
      try BundleExtract().write(whole, to: folder.file("whole.mbtiles"), replacing: true)
    }
    #expect(itself?.code == .isInput)
  }
}
