import TestSupport
import Testing
import TileIndex

@testable import TileCut

@Suite("Coordinate reference systems", .ownThread)
struct CRSTests {
  /// Definitions of Web Mercator in use.
  static let webMercators = [
    "EPSG:3857", "epsg:3857", "EPSG:900913", "EPSG:3785", "ESRI:102100", "ESRI:102113", "EPSG:102100",
    "+proj=webmerc +datum=WGS84",
    "+proj=merc +a=6378137 +b=6378137 +lat_ts=0.0 +lon_0=0.0 +x_0=0.0 +y_0=0 +k=1.0 +units=m +nadgrids=@null +no_defs",
    #"""
    PROJCS["WGS_1984_Web_Mercator_Auxiliary_Sphere",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",\#
    6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],\#
    PROJECTION["Mercator_Auxiliary_Sphere"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],\#
    PARAMETER["Central_Meridian",0.0],PARAMETER["Standard_Parallel_1",0.0],PARAMETER["Auxiliary_Sphere_Type",0.0],\#
    UNIT["Meter",1.0]]
    """#,
    #"""
    PROJCS["Google Maps Global Mercator",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],\#
    PRIMEM["Greenwich",0],UNIT["degree",0.01745329251994328]],PROJECTION["Mercator_1SP"],\#
    PARAMETER["central_meridian",0],PARAMETER["scale_factor",1],PARAMETER["false_easting",0],\#
    PARAMETER["false_northing",0],UNIT["metre",1],EXTENSION["PROJ4","+proj=merc +a=6378137 +b=6378137 +lat_ts=0.0 \#
    +lon_0=0.0 +x_0=0.0 +y_0=0 +k=1.0 +units=m +nadgrids=@null +wktext +no_defs"]]
    """#,
  ]

  @Test("Web Mercator is recognised under all its names", arguments: webMercators)
  func webMercator(definition: String) throws {
    let crs = try CoordinateReferenceSystem(definition: definition)
    #expect(crs.isWebMercator)
    #expect(!crs.isGeographic)
    #expect(try CoordinateTransform(from: crs, to: .webMercator).isIdentity)
  }

  @Test(
    "Other Mercators are not Web Mercator",
    arguments: ["EPSG:3395", "EPSG:3994", "+proj=merc +lon_0=10 +a=6378137 +b=6378137 +nadgrids=@null", "EPSG:32633"])
  func notWebMercator(definition: String) throws {
    #expect(try !CoordinateReferenceSystem(definition: definition).isWebMercator)
  }

  @Test(
    "WGS 84 degrees are recognised in either axis order",
    arguments: [
      "EPSG:4326", "OGC:CRS84", "+proj=longlat +datum=WGS84 +no_defs", "  EPSG:4326\r\n", "\u{feff}EPSG:4326",
      #"""
      GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137,298.257223563]],PRIMEM["Greenwich",0],\#
      UNIT["Degree",0.017453292519943295]]
      """#,
    ])
  func wgs84(definition: String) throws {
    let crs = try CoordinateReferenceSystem(definition: definition)
    #expect(crs.isWGS84LongLat && crs.isGeographic)
    #expect(abs(crs.unitFactor - .pi / 180) < 1e-15)
    #expect(try CoordinateTransform(from: crs, to: .wgs84LongLat).isIdentity)
  }

  @Test(
    "Datums and units similar to WGS 84 are not recognised as WGS 84",
    arguments: ["EPSG:4267", "EPSG:4269", "EPSG:4807", "EPSG:4258"])
  func notWGS84(definition: String) throws {
    let crs = try CoordinateReferenceSystem(definition: definition)
    #expect(!crs.isWGS84LongLat && crs.isGeographic)
  }

  @Test("Names and units are those of the authority")
  func namesAndUnits() throws {
    let stateplane = try CoordinateReferenceSystem(definition: "EPSG:2225")
    #expect(stateplane.name == "NAD83 / California zone 1 (ftUS)")
    #expect(stateplane.unit == "US survey foot")
    #expect(abs(stateplane.unitFactor - 1200 / 3937) < 1e-12)
    #expect(try CoordinateReferenceSystem(definition: "EPSG:4807").unit == "grad")
  }

  @Test("Of a compound CRS the horizontal part is used", arguments: ["EPSG:26912+5703", "EPSG:7405"])
  func compound(definition: String) throws {
    let crs = try CoordinateReferenceSystem(definition: definition)
    let horizontal = try CoordinateReferenceSystem(definition: definition == "EPSG:7405" ? "EPSG:27700" : "EPSG:26912")
    #expect(crs.name == horizontal.name)
    #expect(try CoordinateTransform(from: crs, to: horizontal).isIdentity)
  }

  @Test(
    "CRSs of other planets are refused",
    arguments: [
      "IAU_2015:49900", "IAU_2015:30100", "ESRI:104905", "+proj=longlat +a=3396190 +b=3376200 +no_defs",
      "+proj=merc +R=1737400 +no_defs",
      #"""
      PROJCS["Mars_Equidistant",GEOGCS["GCS_Mars_2000",DATUM["D_Mars_2000",SPHEROID["Mars_2000_IAU_IAG",3396190.0,\#
      169.8944472236118]],PRIMEM["Reference_Meridian",0.0],UNIT["Degree",0.0174532925199433]],\#
      PROJECTION["Equidistant_Cylindrical"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],\#
      PARAMETER["Central_Meridian",180.0],PARAMETER["Standard_Parallel_1",0.0],UNIT["Meter",1.0]]
      """#,
    ])
  func otherPlanets(definition: String) throws {
    let error = try #require(throws: CutError.self) { try CoordinateReferenceSystem(definition: definition) }
    #expect(error.message.contains("not of the Earth"))
    let fromFile = try #require(throws: CutError.self) {
      try CoordinateReferenceSystem(definition: definition, path: "map.tif")
    }
    #expect(fromFile.code == .noGeoreference && fromFile.path == "map.tif")
  }

  @Test(
    "A text that is not a CRS of a map is refused, and the remedy names valid forms",
    arguments: [
      "", "   ", "EPSG:123456789", "nonsense", "EPSG:5703", "EPSG:4978", "PROJCS[", "EPSG:9122",
      #"LOCAL_CS["site grid",UNIT["metre",1]]"#, "+proj=nothing",
    ])
  func refused(definition: String) throws {
    let error = try #require(throws: CutError.self) { try CoordinateReferenceSystem(definition: definition) }
    #expect(error.code == .invalidOption)
    #expect(error.remedy?.contains("EPSG:4326") == true)
  }

  @Test("Spheres and old ellipsoids of the Earth are accepted", arguments: ["+proj=longlat +R=6371000", "EPSG:4047"])
  func spheres(definition: String) throws {
    #expect(throws: Never.self) { try CoordinateReferenceSystem(definition: definition) }
  }
}

@Suite("Coordinate transformation", .ownThread)
struct CRSTransformTests {
  /// Positions that GDAL 3.6.2 computes for corners of real rasters (image transformer, area of interest from the
  /// raster).
  @Test(
    "Positions equal those of gdalwarp",
    arguments: [
      (
        "EPSG:26711", SIMD2(440720.0, 3751320.0), BoundingBox(west: -117.65, south: 33.62, east: -117.3, north: 33.91),
        SIMD2(-13095852.299635906, 4015700.00528197)
      ),
      (
        "EPSG:2964", SIMD2(-6232946.672697669, 9275122.968681416),
        BoundingBox(west: 160, south: 44, east: -129, north: 76), SIMD2(17272905.71037828, 10604095.54780553)
      ),
      (
        "EPSG:27582", SIMD2(827000.0, 2224000.0), BoundingBox(west: 5.32, south: 46.97, east: 5.33, north: 46.98),
        SIMD2(592325.252235007, 5938337.658777528)
      ),
      (
        "EPSG:26913", SIMD2(519467.4957275815, 4311669.7657353515),
        BoundingBox(west: -104.776, south: 38.95, east: -104.77, north: 38.96),
        SIMD2(-11663536.048145548, 4715050.855995025)
      ),
      (
        "EPSG:31985", SIMD2(288776.25000080315, 9120760.750028737),
        BoundingBox(west: -34.92, south: -8.05, east: -34.82, north: -7.94),
        SIMD2(-3886849.7678365367, -887823.4252460535)
      ),
      (
        "+proj=laea +lat_0=45 +lon_0=-100 +datum=WGS84", SIMD2(-1789979.9999999984, -1219959.9999999972),
        BoundingBox(west: -119.1, south: 13.1, east: -84.9, north: 34), SIMD2(-13253604.688634796, 3787681.0519840764)
      ),
    ])
  func positions(definition: String, point: SIMD2<Double>, area: BoundingBox, expected: SIMD2<Double>) throws {
    let crs = try CoordinateReferenceSystem(definition: definition)
    let transform = try CoordinateTransform(from: crs, to: .webMercator, areaOfInterest: area)
    let moved = transform.transform(point)
    #expect(abs(moved.x - expected.x) < 0.01 && abs(moved.y - expected.y) < 0.01, "\(moved) is not \(expected)")
    let back = transform.inverse(moved)
    #expect(abs(back.x - point.x) < 0.01 && abs(back.y - point.y) < 0.01, "\(back) is not \(point)")
  }

  @Test("Longitude comes first, whatever the authority's axis order")
  func axisOrder() throws {
    for definition in ["EPSG:4326", "OGC:CRS84"] {
      let crs = try CoordinateReferenceSystem(definition: definition)
      let moved = try CoordinateTransform(from: crs, to: .webMercator).transform(SIMD2(180, 0))
      #expect(abs(moved.x - 20037508.342789244) < 1e-6 && abs(moved.y) < 1e-6)
    }
  }

  @Test("OGC:CRS84 and EPSG:4326 give the same positions")
  func crs84() throws {
    let source = try CoordinateReferenceSystem(definition: "EPSG:26913")
    for definition in ["EPSG:4326", "OGC:CRS84", "urn:ogc:def:crs:OGC:1.3:CRS84"] {
      let target = try CoordinateReferenceSystem(definition: definition)
      let moved = try CoordinateTransform(from: source, to: target).transform(
        SIMD2(519467.4957275815, 4311669.7657353515))
      #expect(abs(moved.x + 104.775326989) < 1e-8 && abs(moved.y - 38.953764219) < 1e-8, "\(definition): \(moved)")
    }
  }

  /// Areas in the CRS's area of use, across its edge, beside it, and on the other side of the Earth.
  @Test(
    "A transformation that is kept is the one that PROJ chooses for the area",
    arguments: [
      ("EPSG:32633", 15.0, 47.0), ("EPSG:2100", 24, 38), ("EPSG:3991", -66, 18), ("EPSG:26917", -81, 36),
      ("EPSG:27700", -2, 53), ("EPSG:31467", 9, 50), ("EPSG:2000", -63, 18), ("EPSG:32601", -179.5, 52),
      ("+proj=laea +lat_0=50 +lon_0=10 +ellps=bessel", 10, 50),
    ])
  func keptTransformations(definition: String, longitude: Double, latitude: Double) throws {
    let crs = try CoordinateReferenceSystem(definition: definition)
    let context = try PROJContext()
    for shift in [0.0, 3, 8, 20, 175] {
      let area = BoundingBox(
        west: longitude + shift, south: latitude - 1, east: longitude + shift + 2, north: latitude + 1)
      let places = (0..<9).map { SIMD2(area.west + Double($0 % 3), area.south + Double($0 / 3)) }
      for target in [CoordinateReferenceSystem.webMercator, .wgs84LongLat] {
        let chosen = try CoordinateTransform(
          from: crs, to: target, areaOfInterest: area, usesKept: false, in: PROJContext())
        // The first is made, the second kept.
        for _ in 0..<2 {
          let transform = try CoordinateTransform(from: crs, to: target, areaOfInterest: area, in: context)
          for place in places {
            let source = SIMD2(500_000 + place.x * 100, 5_000_000 + place.y * 1000)
            let (a, b) = (chosen.transform(source), transform.transform(source))
            #expect(a == b || (a.x.isNaN && b.x.isNaN), "\(definition) \(area) to \(target.name)")
          }
        }
      }
    }
  }

  @Test("Points without an image become NaN and do not affect the others")
  func impossiblePoints() throws {
    let transform = try CoordinateTransform(from: .wgs84LongLat, to: .webMercator)
    var points = [SIMD2(10.0, -91.0), SIMD2(10.0, 45.0), SIMD2(.nan, 0.0), SIMD2(10.0, 95.0), SIMD2(.infinity, 1)]
    points.withUnsafeMutableBufferPointer { transform.transform($0) }
    for i in [0, 2, 3, 4] { #expect(points[i].x.isNaN && points[i].y.isNaN, "point \(i): \(points[i])") }
    #expect(abs(points[1].x - 1113194.9079327357) < 1e-6 && abs(points[1].y - 5621521.486192066) < 1e-6)
  }

  @Test("The identity does not change points, even impossible ones")
  func identity() throws {
    let transform = try CoordinateTransform(from: .webMercator, to: .webMercator)
    #expect(transform.isIdentity)
    #expect(transform.transform(SIMD2(1e9, -1e9)) == SIMD2(1e9, -1e9))
  }
}
