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
    expectRefusal(run, status: 65, naming: picture, "--bounds", "--crs", "world file", ".pgw", ".prj")
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

  /// Unknown, empty, vertical, geocentric.
  @Test(arguments: ["nonsense", "EPSG:999999", "", "EPSG:5773", "EPSG:4978", "GEOGCS[\"broken\""])
  func unusableReferenceSystemsAreRefused(_ crs: String) throws {
    let picture = try folder.writePicture("scan.png")
    let run = try tilecut("cut", picture, "-o", output, "--crs", crs, "--bounds", "-10,-10,10,10")
    expectRefusal(run, status: 64, naming: "coordinate reference system")
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
