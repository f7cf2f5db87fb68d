import Foundation
import TestSupport
import Testing
import TileIndex

@testable import TileCut

@Suite("Placing rasters", .ownThread)
struct RasterPlacementTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func open(_ tags: [Int: TIFFFixture.Value], name: String = "map.tif", _ options: RasterOpenOptions = .init())
    throws -> any RasterSource
  {
    var fixture = TIFFFixture(width: 20, height: 10)
    fixture.tags = tags
    return try RasterFile.open(path: fixture.write(folder, name), options: options)
  }

  static let scale = TIFFFixture.Value.double([60, 50, 0])
  static let tie = TIFFFixture.Value.double([2, 3, 0, 440_720, 3_751_320, 0])
  /// The keys of EPSG:32611.
  static func keys(rasterType: Int = 1) -> TIFFFixture.Value {
    .short([1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, rasterType, 3072, 0, 1, 32611])
  }

  @Test("Pixel scale and tie point place a raster; with the raster type PixelIsPoint it lies half a pixel away")
  func scaleAndTie() throws {
    var source = try open([33550: Self.scale, 33922: Self.tie, 34735: Self.keys()])
    let corner = Affine(a: 60, b: 0, c: 440_720 - 120, d: 0, e: -50, f: 3_751_320 + 150)
    #expect(source.georeference.affine == corner)
    #expect(source.georeference.crs.name == "WGS 84 / UTM zone 11N")
    source = try open([33550: Self.scale, 33922: Self.tie, 34735: Self.keys(rasterType: 2)])
    #expect(source.georeference.affine == Affine(a: 60, b: 0, c: corner.c - 30, d: 0, e: -50, f: corner.f + 25))
  }

  @Test("A negative vertical scale is read north-up, with a warning")
  func negativeScale() throws {
    let source = try open([33550: .double([60, -50, 0]), 33922: Self.tie, 34735: Self.keys()])
    #expect(source.georeference.affine.e == -50)
    #expect(source.warnings.contains { $0.contains("north-up") && $0.hasPrefix(source.path) })
  }

  @Test("A transformation matrix may rotate the raster or turn it south-up")
  func matrix() throws {
    let matrix = TIFFFixture.Value.double([1.5, -5, 0, 441_000, -5, 1.5, 0, 3_744_000, 0, 0, 0, 0, 0, 0, 0, 1])
    let source = try open([34264: matrix, 34735: Self.keys()])
    #expect(source.georeference.affine == Affine(a: 1.5, b: -5, c: 441_000, d: -5, e: 1.5, f: 3_744_000))
    let points = try open([34264: matrix, 34735: Self.keys(rasterType: 2)])
    #expect(points.georeference.affine.c == 441_000 - 0.75 + 2.5)
    #expect(points.georeference.affine.f == 3_744_000 + 2.5 - 0.75)
  }

  @Test("Three ground control points place a raster; two, or points on a line, do not, and the message says so")
  func controlPoints() throws {
    func ties(_ points: [[Double]]) -> [Int: TIFFFixture.Value] {
      [33922: .double(points.flatMap { [$0[0], $0[1], 0, $0[2], $0[3], 0] }), 34735: Self.keys()]
    }
    let corners: [[Double]] = [[0, 0, 440_000, 3_750_000], [20, 0, 440_200, 3_750_040], [0, 10, 440_030, 3_749_900]]
    let affine = try open(ties(corners)).georeference.affine
    let expected = Affine(a: 10, b: 3, c: 440_000, d: 2, e: -10, f: 3_750_000)
    for pixel: SIMD2<Double> in [SIMD2(0, 0), SIMD2(20, 0), SIMD2(7, 9)] {
      let away = affine(pixel) - expected(pixel)
      #expect(abs(away.x) < 1e-6 && abs(away.y) < 1e-6, "\(affine)")
    }
    let two = #expect(throws: CutError.self) { try open(ties(Array(corners.prefix(2)))) }
    #expect(two?.code == .noGeoreference && two?.message.contains("two ground control points") == true)
    #expect(two?.remedy?.contains("--bounds") == true)
    let line = (0..<5).map(Double.init).map { [$0, $0, 440_000 + $0, 3_750_000 - $0] }
    let onLine = #expect(throws: CutError.self) { try open(ties(line)) }
    #expect(onLine?.code == .noGeoreference && onLine?.message.contains("on a line") == true)
  }

  @Test("A part and an overview lie where their pixels lie in the raster", arguments: [false, true])
  func parts(hasControlPoints: Bool) throws {
    var tags = [34735: Self.keys()]
    if hasControlPoints {
      var points: [Double] = []
      for i in 0..<9 {
        let (x, y) = (Double(i % 3) * 10, Double(i / 3) * 5)
        points += [x, y, 0, 440_000 + 60 * x + 0.1 * x * y, 3_750_000 - 50 * y + 0.02 * x * x, 0]
      }
      tags[33922] = .double(points)
    } else {
      tags[34264] = .double([60, 5, 0, 440_000, 7, -50, 0, 3_750_000, 0, 0, 0, 0, 0, 0, 0, 1])
    }
    let whole = try open(tags).georeference
    let part = whole.part(origin: SIMD2(4, 2), step: SIMD2(2, 3)).part(origin: SIMD2(1, 1))
    for pixel: SIMD2<Double> in [SIMD2(0, 0), SIMD2(5, 1)] {
      let (place, expected) = (part.place(ofPixel: pixel), whole.place(ofPixel: SIMD2(6, 5) + pixel * SIMD2(2, 3)))
      #expect(abs(place.x - expected.x) < 1e-6 && abs(place.y - expected.y) < 1e-6)
      let back = part.controlPoints?.pixel(at: place) ?? part.affine.inverse!(place)
      // The polynomials are inverses of each other only nearly.
      #expect(abs(back.x - pixel.x) < 0.05 && abs(back.y - pixel.y) < 0.05, "\(back)")
    }
  }

  @Test("Control points that the polynomial misses by more than a pixel give a warning")
  func inexactControlPoints() throws {
    var points: [Double] = []
    for i in 0..<9 {
      let (x, y) = (Double(i % 3) * 10, Double(i / 3) * 5)
      // The point in the middle lies 30 pixels away.
      points += [x, y, 0, 440_000 + 60 * x + (i == 4 ? 1800 : 0), 3_750_000 - 50 * y, 0]
    }
    let source = try open([33922: .double(points), 34735: Self.keys()])
    let warning = try #require(source.warnings.first)
    #expect(warning.contains("order 2 misses its 9 ground control points") && warning.contains("gdalwarp -tps"))
  }

  // MARK: The file that GDAL keeps beside an image

  private static let auxiliary = """
    <PAMDataset>
      <SRS dataAxisToSRSAxisMapping="1,2">PROJCS["WGS 84 / UTM zone 12N",GEOGCS["WGS 84",DATUM["WGS_1984",\
    SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],\
    PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",0],PARAMETER["central_meridian",-111],\
    PARAMETER["scale_factor",0.9996],PARAMETER["false_easting",500000],PARAMETER["false_northing",0],\
    UNIT["metre",1],AUTHORITY["EPSG","32612"]]</SRS>
      <GeoTransform>  4.5e+05,  2.0e+01, 1,  4.0e+06, 2, -2.0e+01</GeoTransform>
      <PAMRasterBand band="1"><NoDataValue>5</NoDataValue>
        <Metadata><MDI key="STATISTICS_MINIMUM">3</MDI><MDI key="STATISTICS_MAXIMUM">250.5</MDI></Metadata>
      </PAMRasterBand>
    </PAMDataset>
    """

  @Test("An .aux.xml file gives georeference, CRS, nodata value and statistics, and takes precedence, as in GDAL")
  func auxiliaryFile() throws {
    try folder.write("map.tif.aux.xml", Self.auxiliary)
    let tags = [33550: Self.scale, 33922: Self.tie, 34735: Self.keys(), 42113: .text("7")]
    for tags in [[:], tags] {
      let source = try open(tags)
      #expect(source.georeference.affine == Affine(a: 20, b: 1, c: 450_000, d: 2, e: -20, f: 4e6))
      #expect(source.georeference.crs.title == "WGS 84 / UTM zone 12N (EPSG:32612)")
      // The fixture's sample is 3x + 5y.
      #expect(try source.words()[20] == 0 && source.words()[1] == grey(3))
    }
    let file = try #require(try AuxiliaryFile(beside: folder.file("map.tif")))
    #expect(file.rangeByBand == [1: 3...250.5] && file.nodata == [5])
  }

  /// As Windows' programs write text.
  @Test("An .aux.xml and a .prj file may be UTF-16", arguments: [true, false]) func sideFilesInUTF16(isBig: Bool) throws
  {
    func encoded(_ text: String) -> [UInt8] {
      ("\u{feff}" + text).utf16.flatMap { unit in
        let bytes = [UInt8(unit >> 8), UInt8(unit & 0xff)]
        return isBig ? bytes : bytes.reversed()
      }
    }
    try folder.write(
      "map.tif.aux.xml", bytes: encoded("<?xml version=\"1.0\" encoding=\"UTF-16\"?>\n" + Self.auxiliary))
    let file = try #require(try AuxiliaryFile(beside: folder.file("map.tif")))
    #expect(file.rangeByBand == [1: 3...250.5] && file.nodata == [5])
    let text = SourceFile.text(at: try folder.write("a.prj", bytes: encoded("EPSG:4326\n")), bytesMax: 100)
    #expect(text == "EPSG:4326\n")
  }

  @Test("An .aux.xml file places a raster by control points; a damaged one is an error that names it")
  func auxiliaryControlPoints() throws {
    try folder.write(
      "map.tif.aux.xml",
      """
      <PAMDataset><GCPList Projection="EPSG:32611">
        <GCP Id="1" Pixel="0" Line="0" X="440000" Y="3750000"/><GCP Id="2" Pixel="20" Line="0" X="440200" Y="3750000"/>
        <GCP Id="3" Pixel="0" Line="10" X="440000" Y="3749900"/></GCPList></PAMDataset>
      """)
    let source = try open([:])
    #expect(source.georeference.crs.code == "EPSG:32611")
    let place = source.georeference.place(ofPixel: SIMD2(10, 5))
    #expect(abs(place.x - 440_100) < 1e-6 && abs(place.y - 3_749_950) < 1e-6)
    try folder.write("map.tif.aux.xml", "<PAMDataset><GeoTransform>")
    let error = #expect(throws: CutError.self) { try open([:]) }
    #expect(error?.path == folder.file("map.tif.aux.xml") && error?.code == .noGeoreference)
  }

  // MARK: What the keys lack or contradict

  @Test("Keys that contradict their EPSG code give a warning that names the difference")
  func contradictions() throws {
    func contradiction(_ shorts: [(Int, Int)], _ doubles: [(Int, Double)] = []) throws -> String? {
      try open(keys(shorts, doubles: doubles)).warnings.first { $0.contains("contradict") }
    }
    let agreeing = [(3080, -117), (3081, 0), (3092, 0.9996), (3082, 500_000)]
    #expect(try contradiction([(1024, 1), (2048, 4326), (3072, 32611)], agreeing) == nil)
    let meridian = try contradiction([(1024, 1), (3072, 32611)], [(3080, -111), (3082, 500_000)])
    #expect(meridian?.contains("EPSG:32611, which is used: longitude of natural origin -111.0 instead of -117") == true)
    let base = try contradiction([(1024, 1), (2048, 4267), (3072, 32611)])
    #expect(base?.contains("based on NAD27") == true)
    let ellipsoid = try contradiction([(1024, 1), (3072, 32611)], [(2057, 6_378_206.4), (2059, 294.978698)])
    #expect(ellipsoid?.contains("their ellipsoid") == true)
    // 49 grads, which some programs take for degrees.
    let grads = try contradiction([(1024, 1), (2048, 4807), (2054, 9105), (3072, 27563)], [(3081, 49)])
    #expect(grads?.contains("may take for degrees") == true)
  }

  @Test("A datum without a relation to WGS 84, and a missing grid, give a warning", arguments: [7001, 7022])
  func unknownDatum(ellipsoid: Int) throws {
    let tags = keys(
      [(1024, 1), (2048, 32767), (2050, 32767), (2056, ellipsoid), (3072, 32767), (3074, 16011), (3076, 9001)])
    let warnings = try open(tags).warnings
    #expect(
      warnings.contains { $0.contains("says nothing of how its datum lies") && $0.contains("--crs") }, "\(warnings)")
  }

  @Test("Without any georeference the message names the options that supply it")
  func nothing() throws {
    let error = #expect(throws: CutError.self) { try open([:]) }
    #expect(error?.code == .noGeoreference && error?.path == folder.file("map.tif"))
    let remedy = error?.remedy ?? ""
    #expect(
      remedy.contains("--bounds") && remedy.contains("--crs") && remedy.contains("tfw") && remedy.contains(".prj"))
  }

  @Test(
    "A singular or infinite affine transformation is refused",
    arguments: [[0.0, 0, 0, 1], [1.0, 1, 1, 1], [.nan, 0, 0, 1]])
  func singular(m: [Double]) throws {
    let matrix = TIFFFixture.Value.double([m[0], m[1], 0, 4, m[2], m[3], 0, 5, 0, 0, 0, 0, 0, 0, 0, 1])
    let error = #expect(throws: CutError.self) { try open([34264: matrix, 34735: Self.keys()]) }
    #expect(error?.code == .noGeoreference)
  }

  @Test("World files are found under all their names", arguments: ["tfw", "tifw", "wld", "TFW", "WLD"])
  func worldFiles(suffix: String) throws {
    try folder.write("map.\(suffix)", "2.0\n0.1\r\n0.2\n-3.0\n100.5\n200,5\n")
    var options = RasterOpenOptions()
    options.crs = .webMercator
    let affine = try open([:], options).georeference.affine
    #expect(affine == Affine(a: 2, b: 0.2, c: 100.5 - 1.1, d: 0.1, e: -3, f: 200.5 + 1.45))
  }

  @Test("A byte order mark at the start of a world file or .prj file is no part of it")
  func byteOrderMarks() throws {
    try folder.write("map.tfw", "\u{feff}2.0\n0\n0\n-3.0\n100.5\n200.5\n")
    try folder.write("map.prj", "\u{feff}EPSG:3857")
    let georeference = try open([:]).georeference
    #expect(georeference.affine == Affine(a: 2, b: 0, c: 99.5, d: 0, e: -3, f: 202) && georeference.crs.isWebMercator)
  }

  @Test("A world file needs a CRS from a .prj file or --crs; EPSG:4326 is suggested for degrees")
  func worldFileWithoutCRS() throws {
    try folder.write("map.tfw", "0.1\n0\n0\n-0.1\n10\n50\n")
    let error = #expect(throws: CutError.self) { try open([:]) }
    #expect(error?.code == .noGeoreference && error?.repair == .nameCRS(likely: "EPSG:4326"))
    try folder.write(
      "map.prj",
      #"""
      GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137,298.257223563]],PRIMEM["Greenwich",0],\#
      UNIT["Degree",0.017453292519943295]]
      """#
    )
    #expect(try open([:]).georeference.crs.isWGS84LongLat)
    var options = RasterOpenOptions()
    options.crs = try CoordinateReferenceSystem(definition: "EPSG:4267")
    #expect(try open([:], options).georeference.crs.name == "NAD27")
  }

  @Test("The error for a broken world file or .prj file names it")
  func brokenSideFiles() throws {
    try folder.write("map.tfw", "0.1\n0\nzero\n")
    #expect(throws: CutError.self) { try open([:]) }
    try folder.write("map.tfw", "0.1\n0\n0\n-0.1\n10\n50\n")
    try folder.write("map.prj", "PROJCS[nonsense")
    let error = #expect(throws: CutError.self) { try open([:]) }
    #expect(error?.path == folder.file("map.prj") && error?.code == .noGeoreference)
  }

  @Test("The file's georeference takes precedence over side files, and --crs over the file's CRS")
  func precedence() throws {
    try folder.write("map.tfw", "1\n0\n0\n-1\n0\n0\n")
    let tags = [33550: Self.scale, 33922: Self.tie, 34735: Self.keys()]
    #expect(try open(tags).georeference.affine.a == 60)
    var options = RasterOpenOptions()
    options.crs = try CoordinateReferenceSystem(definition: "EPSG:26711")
    options.bounds = BoundingBox(west: 0, south: 0, east: 1, north: 1)
    let source = try open(tags, options)
    #expect(source.georeference.crs.name == "NAD27 / UTM zone 11N" && source.georeference.affine.a == 60)
  }

  @Test("Bounds stretch a raster over a box of degrees in any CRS")
  func bounds() throws {
    var options = RasterOpenOptions()
    options.bounds = BoundingBox(west: -10, south: -20, east: 30, north: 40)
    #expect(try open([:], options).georeference.affine == Affine(a: 2, b: 0, c: -10, d: 0, e: -6, f: 40))
    options.crs = .webMercator
    let source = try open([:], options)
    let box = source.georeference.bounds(width: 20, height: 10)
    #expect(abs(box.west + 1_113_194.9079327357) < 1e-3 && abs(box.north - 4_865_942.279503176) < 1e-3)
    let degrees = try #require(source.georeference.geographicBounds(width: 20, height: 10))
    #expect(abs(degrees.east - 30) < 1e-9 && abs(degrees.south + 20) < 1e-9)
    options.bounds = BoundingBox(west: 170, south: -20, east: -170, north: 20)
    options.crs = nil
    #expect(try open([:], options).georeference.affine.a == 1)
    options.bounds = BoundingBox(west: 0, south: 5, east: 1, north: 5)
    #expect(throws: CutError.self) { try open([:], options) }
  }

  @Test(
    "Pixels too small or too far away for the Earth are refused",
    arguments: [[1e-10, 1e-10, 0], [60, 1e52, 0], [1e9, 50, 0]])
  func unearthly(scale: [Double]) throws {
    let error = #expect(throws: CutError.self) {
      try open([33550: .double(scale), 33922: Self.tie, 34735: Self.keys()])
    }
    #expect(error?.code == .noGeoreference && error?.description.contains("none of a map of the Earth") == true)
  }

  @Test("Coordinates in metres with a geographic CRS are refused")
  func implausible() throws {
    var options = RasterOpenOptions()
    options.crs = try CoordinateReferenceSystem(definition: "EPSG:4326")
    let error = #expect(throws: CutError.self) { try open([33550: Self.scale, 33922: Self.tie], options) }
    #expect(error?.code == .noGeoreference && error?.message.contains("440600") == true)
  }

  /// Keys of user-defined CRSs: shorts, doubles and texts as in the file.
  private func keys(_ shorts: [(Int, Int)], doubles: [(Int, Double)] = [], texts: [(Int, String)] = []) -> [Int:
    TIFFFixture.Value]
  {
    var entries: [(Int, [Int])] = shorts.map { ($0.0, [$0.0, 0, 1, $0.1]) }
    for (i, (key, _)) in doubles.enumerated() { entries.append((key, [key, 34736, 1, i])) }
    var ascii = ""
    for (key, text) in texts {
      entries.append((key, [key, 34737, text.utf8.count + 1, ascii.utf8.count]))
      ascii += text + "|"
    }
    var directory = [1, 1, 0, entries.count]
    for (_, entry) in entries.sorted(by: { $0.0 < $1.0 }) { directory += entry }
    var tags: [Int: TIFFFixture.Value] = [33550: Self.scale, 33922: Self.tie, 34735: .short(directory)]
    if !doubles.isEmpty { tags[34736] = .double(doubles.map(\.1)) }
    if !texts.isEmpty { tags[34737] = .text(ascii) }
    return tags
  }

  @Test("A user-defined Lambert projection in feet keeps its datum and unit")
  func userDefined() throws {
    // California zone VI of NAD27, spelt out; EPSG:26746 is the same.
    let tags = keys(
      [(1024, 1), (1025, 1), (2048, 4267), (3072, 32767), (3074, 32767), (3075, 8), (3076, 9003)],
      doubles: [
        (3078, 33.8833333333333), (3079, 32.7833333333333), (3084, -116.25), (3085, 32.1666666666667),
        (3086, 2_000_000), (3087, 0),
      ], texts: [(1026, "a zone of \"mine\"")])
    let crs = try open(tags).georeference.crs
    #expect(crs.name == "a zone of mine")
    #expect(abs(crs.unitFactor - 1200.0 / 3937) < 1e-9)
    let known = try CoordinateReferenceSystem(definition: "EPSG:26746")
    let moved = try CoordinateTransform(from: crs, to: known).transform(SIMD2(1_577_139, 634_349))
    #expect(abs(moved.x - 1_577_139) < 0.01 && abs(moved.y - 634_349) < 0.01, "\(moved)")
  }

  @Test("A base CRS without a code is found by its name, which keeps its datum shift")
  func baseByName() throws {
    let tags = keys(
      [(1024, 1), (2048, 32767), (2050, 32767), (2056, 7008), (3072, 32767), (3074, 16011), (3076, 9001)],
      texts: [(2049, "GCS Name = GCS_North_American_1927|Datum = D_North_American_1927")])
    let crs = try open(tags).georeference.crs
    let known = try CoordinateReferenceSystem(definition: "EPSG:26711")
    #expect(try CoordinateTransform(from: crs, to: known).isIdentity)
  }

  @Test("Citations with an ESRI string or Web Mercator's name, and codes with another unit, are understood")
  func citations() throws {
    let esri =
      #"""
      ESRI PE String = PROJCS["Mine",GEOGCS["GCS_North_American_1983",DATUM["D_North_American_1983",\#
      SPHEROID["GRS_1980",6378137.0,298.257222101]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],\#
      PROJECTION["Albers"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],\#
      PARAMETER["Central_Meridian",-96.0],PARAMETER["Standard_Parallel_1",29.5],PARAMETER["Standard_Parallel_2",\#
      45.5],PARAMETER["Latitude_Of_Origin",23.0],UNIT["Meter",1.0],VERTCS["NAVD_1988",\#
      VDATUM["North_American_Vertical_Datum_1988"],PARAMETER["Vertical_Shift",0.0],PARAMETER["Direction",1.0],\#
      UNIT["Centimeter",0.01]]]
      """#
    #expect(try open(keys([(1024, 32767)], texts: [(3073, esri)])).georeference.crs.name == "Mine")
    let web = keys(
      [(1024, 1), (2048, 4326), (3072, 32767), (3074, 32767), (3075, 7), (3076, 9001)],
      texts: [(1026, "PCS Name = WGS_1984_Web_Mercator_Auxiliary_Sphere")])
    #expect(try open(web).georeference.crs.isWebMercator)
    let feet = try open(keys([(1024, 1), (3072, 26911), (3076, 9003)])).georeference.crs
    let metres = try CoordinateReferenceSystem(definition: "EPSG:26911")
    let moved = try CoordinateTransform(from: feet, to: metres).transform(SIMD2(1_640_416.6666666667, 3937))
    #expect(abs(moved.x - 500_000) < 1e-3 && abs(moved.y - 1200) < 1e-3, "\(moved)")
  }

  @Test("Keys without a usable CRS, geocentric coordinates and other planets are refused; the remedy is --crs")
  func refusedKeys() throws {
    for tags in [
      keys([(1024, 3), (2048, 4978)]), keys([(1024, 1), (3072, 32767), (3075, 32767)]),
      keys([(1024, 2), (2048, 32767)], doubles: [(2057, 3_396_190), (2058, 3_376_200)]),
    ] {
      let error = #expect(throws: CutError.self) { try open(tags) }
      #expect(error?.code == .noGeoreference && error?.path == folder.file("map.tif"))
    }
  }
}
