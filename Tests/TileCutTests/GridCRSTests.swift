import Foundation
import Support
import TestSupport
import Testing
import TileImage

@testable import TileCut
@testable import TileIndex

/// Grids in any CRS that PROJ knows.
@Suite(.ownThread) struct GridCRSTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func read(_ document: GridDocument, isFirstVersion: Bool = false) throws -> TileMatrixSet {
    try TileMatrixSetDocument.matrixSet(
      inFile: folder.write("grid.json", document.json(isFirstVersion: isFirstVersion)),
      lookup: CoordinateReferenceSystem.forGrid)
  }

  private static func box(_ west: Double, _ south: Double, _ east: Double, _ north: Double) -> BoundingBox {
    BoundingBox(west: west, south: south, east: east, north: north)
  }

  /// The error is measured at other points than those of the fit.
  @Test(arguments: [
    ("EPSG:2056", box(2_420_000, 1_030_000, 2_900_000, 1_350_000)), ("EPSG:27700", box(0, 0, 700_000, 1_300_000)),
    ("EPSG:25832", box(0, 3_800_000, 1_000_000, 9_300_000)),
    ("EPSG:3035", box(2_000_000, 1_000_000, 7_500_000, 5_500_000)),
    ("EPSG:2154", box(0, 6_000_000, 1_300_000, 7_200_000)),
    ("EPSG:2193", box(1_000_000, 4_700_000, 2_200_000, 6_300_000)),
    ("EPSG:3031", box(-4_194_304, -4_194_304, 4_194_304, 4_194_304)),
    ("EPSG:3413", box(-4_194_304, -4_194_304, 4_194_304, 4_194_304)),
    ("EPSG:3395", box(-20_037_508, -15_000_000, 20_037_508, 15_000_000)), ("EPSG:4258", box(-30, 25, 45, 75)),
    ("EPSG:2263", box(900_000, 100_000, 1_080_000, 280_000)),
  ]) func theSeriesIsNearPROJ(code: String, box: BoundingBox) throws {
    let crs = try CoordinateReferenceSystem.forGrid(code)
    let fitted = try FittedCRS(crs, box: box)
    let tolerance = FittedCRS.tolerance(of: box, metresPerUnit: crs.metresPerUnit)
    let error = try fitted.error(against: crs, count: 58)
    #expect(error <= 1.2 * tolerance, "\(code): \(error) m of \(tolerance) with \(fitted.surface.counts)")
    #expect(fitted.surface.coefficients.count <= 1200)
    for x in stride(from: 0.05, to: 1, by: 0.15) {
      for y in stride(from: 0.05, to: 1, by: 0.15) {
        let point = SIMD2(box.west + x * box.width, box.south + y * box.height)
        let degrees = crs.toDegrees([point])[0]
        let ours = fitted.point(longitude: degrees.x, latitude: degrees.y)
        let away = (ours - point) * crs.metresPerUnit
        // Mercator stretches towards the poles.
        #expect(max(abs(away.x), abs(away.y)) < 12 * tolerance, "\(code) \(point)")
      }
    }
  }

  @Test func axesAndUnitsAreTheAuthoritys() throws {
    let expected: [(String, Bool, Double)] = [
      ("EPSG:2056", false, 1), ("EPSG:3035", true, 1), ("EPSG:5482", true, 1), ("EPSG:5041", false, 1),
      ("EPSG:4258", true, 111_319.49), ("EPSG:2263", false, 0.3048006), ("EPSG:31468", true, 1),
    ]
    for (code, isNorthFirst, metres) in expected {
      let crs = try CoordinateReferenceSystem.forGrid(code)
      #expect(crs.code == code && crs.isNorthFirst == isNorthFirst, "\(code)")
      #expect(abs(crs.metresPerUnit / metres - 1) < 1e-6 && crs.wkt?.contains(crs.name) == true, "\(code)")
    }
    #expect(throws: GridError.self) { try CoordinateReferenceSystem.forGrid("EPSG:999999") }
  }

  /// Documents of OGC's registry.
  @Test func registeredSetsAreRead() throws {
    let utm = try read(.utm31)
    // PROJ does not reach the whole of the matrices, so the area is that of the zone and some more.
    #expect(utm.boundingBox.west < 170_000 && utm.boundingBox.east > 830_000 && utm.boundingBox.width < 2_000_000)
    #expect(utm.crs == "EPSG:32631" && utm[0].origin.x == -9501965.72931276)
    let eiffel = try #require(utm.tile(longitude: 2.2945, latitude: 48.8582, zoom: 5))
    #expect(utm.bounds(of: eiffel).contains(SIMD2(448_252, 5_411_955)))
    #expect(utm.tile(longitude: 100, latitude: 48, zoom: 5) == nil)

    let europe = try read(.europe)
    #expect(europe[0].origin == SIMD2(2_000_000, 5_500_000) && europe.boundingBox == Self.box(2e6, 1e6, 6.5e6, 5.5e6))
    let arctic = try read(.arctic)
    #expect(arctic.zooms == 0...24 && arctic.geographicBounds(ofCRSBounds: arctic.boundingBox).north == 90)
    #expect(arctic.definition!.text.utf8.count < 1 << 17)
    let south = try read(.rossSea, isFirstVersion: true)
    // McMurdo.
    let base = south.point(longitude: 166.67, latitude: -77.85)
    #expect(abs(base.x - 4_688_000) < 2000 && abs(base.y - 2_317_000) < 2000, "\(base)")
    #expect(south[0].origin == SIMD2(-918457.73, 6918457.73) && south.boundingBox.width < 12e6)
    for set in [utm, europe, arctic, south] {
      let copy = try TileMatrixSet(definition: JSONValue(parsing: set.definition!.bytes))
      #expect(copy == set)
    }
  }

  @Test func otherSetsAreRefusedWithAReason() throws {
    var swiss = GridDocument.swiss
    swiss.cellSizes[5] = 50
    #expect(#expect(throws: BundleError.self) { try read(swiss) }?.message.contains("whole number") == true)
    swiss = .swiss
    swiss.code = 999_999
    #expect(#expect(throws: BundleError.self) { try read(swiss) }?.message.contains("999999") == true)
    var utm = GridDocument.utm31
    utm.boundingBox = (lowerLeft: [-9.5e6, -19e6], upperRight: [10e6, 20e6])
    #expect(#expect(throws: BundleError.self) { try read(utm) }?.message.contains("smaller boundingBox") == true)
    let alone = #expect(throws: BundleError.self) {
      try TileMatrixSetDocument.matrixSet(inFile: folder.write("grid.json", GridDocument.swiss.json()))
    }
    #expect(alone?.message.contains("EPSG/0/2056") == true && alone?.message.contains("PROJ") == true)
  }

  /// From document to tiles and through every container that can have them.
  @Test func mapsAreCutAndConverted() throws {
    let set = try read(.colorado)
    var options = CutOptions(sources: [ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")])
    (options.matrixSet, options.zoom) = (set, .levels(3...6))
    let path = folder.file("a.mbtiles")
    _ = try Cutter(options).cut(to: path)
    let bundle = try BundleFile.open(path)
    #expect(bundle.matrixSet == set && bundle.metadata["crs"] == "EPSG:32613")
    let bounds = try #require(bundle.metadata.bounds)
    #expect(bounds.west > -106.2 && bounds.east < -105.2 && bounds.south > 39.9 && bounds.north < 40.8, "\(bounds)")
    let center = try #require(bundle.metadata.center)
    #expect(bounds.contains(SIMD2(center.longitude, center.latitude)))
    func check(_ name: String) throws {
      let report = try BundleVerifier(path: folder.file(name)) { bytes, _ in
        let pixels = try ImageDecoder.decode(bytes)
        return (pixels.width, pixels.height)
      }.verify()
      #expect(report.errors == 0 && report.warnings == 0, "\(name) \(report.outcomes.flatMap(\.findings))")
    }
    try check("a.mbtiles")
    for name in ["b.gpkg", "b/"] {
      _ = try BundleConvert().write(bundle, to: folder.file(name))
      let copy = try BundleFile.open(folder.file(name))
      #expect(try copy.matrixSet == set && TilesHash.of(copy) == TilesHash.of(bundle), "\(name)")
      try check(name)
      _ = try BundleConvert().write(copy, to: folder.file("c.mbtiles"), replacing: true)
      #expect(try TilesHash.of(BundleFile.open(folder.file("c.mbtiles"))) == TilesHash.of(bundle), "\(name)")
    }
    #expect(throws: BundleError.self) { try BundleConvert().write(bundle, to: folder.file("d.pmtiles")) }
    // An extract by a box of degrees, and by a polygon.
    let box = BoundingBox(west: -105.7, south: 40.3, east: -105.6, north: 40.4)
    _ = try BundleExtract(area: TileArea(bounds: box)).write(bundle, to: folder.file("e.mbtiles"))
    let part = try BundleFile.open(folder.file("e.mbtiles"))
    func count(_ reader: any BundleReader) throws -> Int {
      var count = 0
      try reader.forEachTile { _, _ in count += 1 }
      return count
    }
    #expect(try count(part) < count(bundle) && count(part) > 3)
    try check("e.mbtiles")
  }

  /// A clip along a meridian and a parallel, which are curves in the grid.
  @Test func areasAreClippedAlongTheirCurves() throws {
    let set = try read(.swiss)
    let area = """
      {"type": "Polygon", "coordinates": [[[9.5, 47.05], [9.6, 47.05], [9.6, 47.15], [9.5, 47.15], [9.5, 47.05]]]}
      """
    let clip = try ClipArea(file: folder.write("area.json", area))
    let pixels = clip.pixels(set, zoom: 9)
    let crs = try CoordinateReferenceSystem.forGrid("EPSG:2056")
    let corners = crs.fromDegrees([SIMD2(9.5, 47.05), SIMD2(9.6, 47.15)]).map { set[9].pixelCoordinates(of: $0) }
    let bounds = try #require(pixels.bounds)
    #expect(corners.allSatisfy { $0.x > bounds.low.x - 0.1 && $0.x < bounds.high.x + 0.1 })
    #expect(!pixels.covers(low: corners[0] + SIMD2(-2, -2), high: corners[0] + SIMD2(-1, -1)))
    #expect(pixels.covers(low: corners[0] + SIMD2(20, -40), high: corners[0] + SIMD2(40, -20)))
    #expect(
      try ClipArea(file: folder.write("area.json", area), bufferMetres: 500).pixels(set, zoom: 9).edges.count > 50)
  }
}

/// Pixels of maps in other CRSs are those of gdalwarp.
@Suite(.ownThread, .enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)))
struct GridGDALTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test func tilesHaveThePixelsOfGdalwarp() throws {
    let raster = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")
    let set = try TileMatrixSetDocument.matrixSet(
      inFile: folder.write("grid.json", GridDocument.colorado.json()), lookup: CoordinateReferenceSystem.forGrid)
    var options = CutOptions(sources: [raster])
    (options.matrixSet, options.zoom, options.resampling) = (set, .levels(6...6), .nearest)
    let path = folder.file("a.gpkg")
    _ = try Cutter(options).cut(to: path)
    let reader = try BundleFile.open(path)
    let range = try #require(try reader.range(zoom: 6))
    let box = set.bounds(of: TileID(unchecked: 6, range.columns.lowerBound, range.rows.lowerBound))
      .union(set.bounds(of: TileID(unchecked: 6, range.columns.upperBound, range.rows.upperBound)))
    let warped = folder.file("warped.tif")
    try GDALPrograms.make(
      "gdalwarp", "-t_srs", "EPSG:32613", "-te", "\(box.west)", "\(box.south)", "\(box.east)", "\(box.north)",
      "-tr", "\(set[6].cellSize)", "\(set[6].cellSize)", "-r", "near", "-et", "0", "-dstalpha", raster, warped)
    try GDALPrograms.make("gdal_translate", "-of", "PNG", warped, folder.file("warped.png"))
    let theirs = try Data(contentsOf: URL(fileURLWithPath: folder.file("warped.png"))).withUnsafeBytes {
      try ImageDecoder.decode($0)
    }
    var (visible, wrong) = (0, 0)
    try reader.forEachTile(in: range) { tile, bytes in
      let ours = try ImageDecoder.decode(bytes)
      let (left, top) = ((tile.column - range.columns.lowerBound) * 256, (tile.row - range.rows.lowerBound) * 256)
      for y in 0..<256 {
        for x in 0..<256 {
          let a = ours.bytes.load(fromByteOffset: y * ours.rowBytes + x * 4, as: UInt32.self)
          let b = theirs.bytes.load(fromByteOffset: (top + y) * theirs.rowBytes + (left + x) * 4, as: UInt32.self)
          if a >> 24 != 0 { visible += 1 }
          if a != b, a >> 24 != 0 || b >> 24 != 0 { wrong += 1 }
        }
      }
    }
    #expect(visible > 1000 && Double(wrong) < 0.001 * Double(visible), "\(wrong) of \(visible) pixels differ")
    // GDAL knows the place of the GeoPackage.
    let info = try #require(try run("gdalinfo", ["-json", path]))
    let document = try JSONSerialization.jsonObject(with: Data(info.output.utf8)) as? [String: Any]
    let wkt = ((document?["coordinateSystem"] as? [String: Any])?["wkt"] as? String) ?? ""
    #expect(wkt.contains("WGS 84 / UTM zone 13N") && wkt.contains("32613"))
    let extent = (document?["wgs84Extent"] as? [String: Any])?["coordinates"] as? [[[Double]]]
    let west = extent?[0].map { $0[0] }.min() ?? 0
    #expect(abs(west - reader.metadata.bounds!.west) < 0.02, "\(info.output.prefix(3000))")
  }
}
