import Foundation
import TestSupport
import Testing

/// A raster's georeference: from options, or from files beside it; the error if there is none.
@Suite(.ownThread) struct GeoreferenceTests {
  let folder: TemporaryFolder
  let output: String

  init() throws {
    folder = try TemporaryFolder()
    output = folder.file("out.mbtiles")
  }

  @Test func missingGeoreferenceErrorNamesTheWaysToSupplyOne() throws {
    let picture = try folder.writePicture("scan.png")
    let run = try tilecut("cut", picture, "-o", output)
    expectRefusal(
      run, status: 65, naming: picture, "tilecut cut '\(picture)' -o OUT.mbtiles --bounds W,S,E,N", "--crs",
      "world file", ".pgw", ".prj")
    #expect(folder.names == ["scan.png"])
  }

  @Test func boundsSupplyAGeoreference() throws {
    let picture = try folder.writePicture("scan.png")
    let run = try tilecut("cut", picture, "-o", output, "--bounds", "-84.5,36.4,-84,36.8")
    #expect(run.status == 0, "\(run)")
    #expect(try SQLiteFile.metadata(output)["bounds"] == "-84.5,36.4,-84,36.8")
    try expectValid(output)
  }

  @Test func worldFileAndPrjSupplyAGeoreference() throws {
    let run = try tilecut("cut", try folder.writePlacedPicture(), "-o", output)
    #expect(run.status == 0, "\(run)")
    #expect(try SQLiteFile.metadata(output)["bounds"] == "10,40,20,50")
  }

  @Test func brokenWorldFileIsNamedInTheError() throws {
    let picture = try folder.writePlacedPicture()
    let worldFile = try folder.write("placed.pgw", "1 2 three")
    expectRefusal(try tilecut("cut", picture, "-o", output), status: 65, naming: worldFile, "six numbers")
  }

  @Test(arguments: [
    "IAU_2015:30100", "+proj=longlat +a=3396190 +b=3376200 +no_defs",
    "+proj=eqc +lat_ts=0 +R=3396190 +units=m +no_defs +type=crs", "IAU_2015:49900",
  ])
  func referenceSystemsOfOtherPlanetsAreRefused(_ crs: String) throws {
    let picture = try folder.writePicture("scan.png")
    let run = try tilecut("cut", picture, "-o", output, "--crs", crs, "--bounds", "-10,-10,10,10")
    expectRefusal(run, status: 64, naming: "not of the Earth")
    #expect(folder.names == ["scan.png"])
  }

  @Test func prjFilesOfOtherPlanetsAreRefused() throws {
    let picture = try folder.writePlacedPicture()
    let projection = try folder.write("placed.prj", "+proj=longlat +a=1737400 +b=1737400 +no_defs")
    expectRefusal(try tilecut("cut", picture, "-o", output), status: 65, naming: projection, "not of the Earth")
  }

  /// PROJ would take any CRS whose name resembles these.
  @Test(arguments: [
    ("foo", "EPSG:"), ("WGS 84", "EPSG:4326"), ("NAD27 / UTM zone 11N", "EPSG:26711"), ("4326", "EPSG:4326 (WGS 84)"),
    ("Amersfoort", "EPSG:28992 (Amersfoort / RD New)"),
  ])
  func namesOfReferenceSystemsAreRefusedWithSuggestions(_ name: String, _ suggestion: String) throws {
    let picture = try folder.writePicture("scan.png")
    let run = try tilecut("cut", picture, "-o", output, "--crs", name, "--bounds", "4,52,5,53")
    expectRefusal(run, status: 64, naming: "'\(name)'", "did you mean", suggestion)
    #expect(folder.names == ["scan.png"])
  }

  @Test func crsTakenIsPrinted() throws {
    let picture = try folder.writePicture("scan.png")
    try folder.write("rd.prj", "EPSG:28992")
    for crs in ["EPSG:28992", "urn:ogc:def:crs:EPSG::28992", folder.file("rd.prj")] {
      let run = try tilecut("cut", picture, "-o", output, "--crs", crs, "--bounds", "4,52,5,53", "--force")
      #expect(run.status == 0, "\(run)")
      #expect(run.stderrLines.first == "tilecut: --crs is Amersfoort / RD New (EPSG:28992)", "\(run)")
    }
    expectRefusal(
      try tilecut("cut", picture, "-o", output, "--crs", folder.file("none.prj"), "--bounds", "4,52,5,53", "--force"),
      status: 66, naming: "none.prj")
  }

  @Test func missingDatabaseOfPROJIsNotBlamedOnTheReferenceSystem() throws {
    let picture = try folder.writePicture("scan.png")
    let empty = try TemporaryFolder()
    let run = try Command(built: "tilecut").run(
      ["cut", picture, "-o", output, "--crs", "EPSG:28992", "--bounds", "4,52,5,53"],
      environment: ["PROJ_DATA": empty.url.path, "PROJ_LIB": empty.url.path])
    expectRefusal(run, status: 71, naming: "PROJ", "proj-data")
  }

  @Test func addressesThatAreNotReadAreNamed() throws {
    let run = try tilecut("cut", "ftp://maps.example/x.tif", "-o", output)
    expectRefusal(run, status: 66, naming: "ftp://maps.example/x.tif: is at an address of ftp", "http or https")
  }

  /// Nobody writes to the pipe, so waiting for it would take forever.
  @Test func pipesAreRefusedAtOnce() throws {
    let pipe = folder.file("pipe.tif")
    #expect(mkfifo(pipe, 0o600) == 0)
    let run = try tilecut("cut", pipe, "-o", output, timeout: 20)
    expectRefusal(run, status: 66, naming: pipe, "regular file")
  }

  // MARK: Across the antimeridian

  @Test(arguments: [["--bounds", "170,-10,-170,20"], ["--bounds", "172,1,-172,9", "--zoom", "0-6"]])
  func centreOfAMapAcrossTheAntimeridianLiesInIt(_ options: [String]) throws {
    // The second box clips a map of the world, the first places a picture.
    let picture = try folder.writePicture("world.png", width: 128, height: 64)
    if options.count > 2 {
      try folder.write("world.pgw", "2.8125\n0\n0\n-2.8125\n-178.59375\n88.59375\n")
      try folder.write("world.prj", "EPSG:4326")
    }
    let run = try Command(built: "tilecut").run(["cut", picture, "-o", output] + options)
    #expect(run.status == 0, "\(run)")
    let centre = try #require(try SQLiteFile.metadata(output)["center"]).split(separator: ",").compactMap { Double($0) }
    #expect(abs(abs(centre[0]) - 180) < 1e-6 && abs(centre[1] - 5) < 0.3, "\(centre)")
    #expect(try SQLiteFile.metadata(output)["bounds"]?.hasPrefix("-180,") == true)
    try expectValid(output)
  }

  /// Sources on both sides of it, of which none crosses it.
  @Test func centreOfTwoSourcesBesideTheAntimeridianLiesInOneOfThem() throws {
    for (name, west) in [("w", 170.0), ("e", -175)] {
      _ = try folder.writePicture("\(name).png", width: 64, height: 64)
      let pixel = 5.0 / 64
      try folder.write(
        "\(name).pgw", "\(pixel)\n0\n0\n-\(pixel)\n\(west + pixel / 2)\n\(5 - pixel / 2)\n")
      try folder.write("\(name).prj", "EPSG:4326")
    }
    let run = try tilecut("cut", folder.file("w.png"), folder.file("e.png"), "-o", output)
    #expect(run.status == 0, "\(run)")
    let centre = try #require(try SQLiteFile.metadata(output)["center"]).split(separator: ",").compactMap { Double($0) }
    #expect((170...175).contains(abs(centre[0])) && abs(centre[1] - 2.5) < 0.3, "\(centre)")
    try expectValid(output)
  }

  @Test func centreOfABuiltRegionAcrossTheAntimeridianLiesInIt() throws {
    _ = try folder.writePicture("world.png", width: 128, height: 64)
    try folder.write("world.pgw", "2.8125\n0\n0\n-2.8125\n-178.59375\n88.59375\n")
    try folder.write("world.prj", "EPSG:4326")
    let manifest = try folder.write(
      "regions.json",
      """
      {"version": 1, "categories": {"islands": {"zoom": [0, 5]}},
       "regions": [{"id": "fiji", "category": "islands", "title": "Fiji", "sources": ["world.png"],
                    "bounds": [172, -22, -176, -12], "edition": "1", "attribution": "none"}]}
      """)
    let run = try tilecut("build", manifest, "-o", folder.file("catalogue"))
    #expect(run.status == 0, "\(run)")
    let centre = try SQLiteFile.metadata(folder.file("catalogue/fiji-1.mbtiles"))["center"]
    #expect(centre?.hasPrefix("178,") == true, "\(centre ?? "none")")
  }

  /// Unknown, empty, vertical, geocentric.
  @Test(arguments: ["nonsense", "EPSG:999999", "", "EPSG:5773", "EPSG:4978", "GEOGCS[\"broken\""])
  func unusableReferenceSystemsAreRefused(_ crs: String) throws {
    let picture = try folder.writePicture("scan.png")
    let run = try tilecut("cut", picture, "-o", output, "--crs", crs, "--bounds", "-10,-10,10,10")
    expectRefusal(run, status: 64, naming: crs.isEmpty ? "--crs" : "coordinate reference system")
    #expect(folder.names == ["scan.png"])
  }

  @Test(arguments: [
    "1,2,3", "1,2,3,4,5", "a,b,c,d", "", "10,10,10,20", "10,20,20,10", "10,10,20,10", "-1000,-10,10,10",
    "-10,-100,10,10", "nan,0,1,1", "0,0,inf,1",
  ])
  func unusableBoundsAreRefused(_ bounds: String) throws {
    // Bounds place a source without georeference and clip the other.
    for picture in [try folder.writePicture("scan.png"), try folder.writePlacedPicture()] {
      let run = try tilecut("cut", picture, "-o", output, "--bounds", bounds)
      expectRefusal(run, status: 64, naming: "bounds")
      #expect(!folder.names.contains("out.mbtiles"))
    }
  }

  @Test func boundsOutsideTheRasterAreRefused() throws {
    let run = try tilecut("cut", try folder.writePlacedPicture(), "-o", output, "--bounds", "-20,-20,-10,-10")
    expectRefusal(run, status: 64, naming: "choose bounds")
  }
}
