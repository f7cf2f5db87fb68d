import Foundation
import RegionCatalog
import TestSupport
import Testing
import TileCut
import TileImage
import TileIndex

/// The sample regions. The short form of ``DemoTests``: the smallest of them is built and verified.
@Suite(.ownThread) struct SampleRegionTests {
  @Test func smallestSampleRegionBuildsAndVerifies() throws {
    let folder = try TemporaryFolder()
    let manifest = ProjectFiles.path("sample-regions/regions.json")
    let id = "jacksboro-levels"
    let run = try tilecut("build", manifest, "-o", folder.path, "--region", id, "--progress", "plain")
    #expect(run.status == 0 && !run.stderr.contains("warning"), "\(run)")
    let region = try #require(try Catalog(path: folder.file("catalogue.json"))[id])
    #expect(try FileHash.sha256(ofFile: folder.file(region.file)) == region.sha256)
    try expectValid(folder.file(region.file))
    let settings = try #require(try RegionManifest(path: manifest).regions.first { $0.id == id })
    let metadata = try SQLiteFile.metadata(folder.file(region.file))
    #expect(metadata["name"] == settings.title && metadata["attribution"] == settings.settings.cut.attribution)
  }
}

/// `make demo`, which a newcomer runs first, with the tests' debug build.
@Suite(.ownThread, .long) struct DemoTests {
  /// One run for all tests.
  struct Demo: Sendable {
    let run: CommandRun
    let folder: TemporaryFolder

    /// All regions would take a debug build a minute.
    static let only = DemoTests.regions.map(\.name) + ["estes-park", "jacksboro-levels"]

    static let shared: Result<Demo, any Error> = Result {
      let folder = try TemporaryFolder()
      // A static value is never released.
      atexit { if let demo = try? Demo.shared.get() { try? FileManager.default.removeItem(atPath: demo.folder.path) } }
      let tilecut = try Command(built: "tilecut").path
      let tileserve = try Command(built: "tileserve").path
      let ledger = try Command(built: "purchase-ledger").path
      let mapstore = try Command(built: "mapstore").path
      let run = try Command(path: ProjectFiles.path("scripts/demo.sh")).run(
        [],
        environment: [
          "TILECUT": tilecut, "TILESERVE": tileserve, "PURCHASE_LEDGER": ledger, "MAPSTORE": mapstore,
          "DEMO_BUYERS": "20",
          "DEMO_OUTPUT": folder.path, "DEMO_REGIONS": Demo.only.joined(separator: " "),
        ], timeout: 600)
      return Demo(run: run, folder: folder)
    }
  }

  /// A region with bounds and zoom as GDAL reports them for its raster.
  struct Region: Sendable, CustomTestStringConvertible {
    let name: String
    let bounds: BoundingBox
    let zoomMax: Int
    var stem: String { "\(name)-2026.1" }
    var testDescription: String { name }
  }

  static let regions = [
    Region(name: "continental-us", bounds: BoundingBox(west: -126, south: 23, east: -66, north: 51), zoomMax: 5),
    Region(
      name: "jacksboro-fault",
      bounds: BoundingBox(west: -84.41375, south: 36.44625, east: -84.0779167, north: 36.7329167), zoomMax: 11),
    // gdalwarp -dstalpha shows columns 5 to 479 and rows 5 to 367 of it; the rest is a collar of nodata.
    Region(
      name: "rocky-mountain-np",
      bounds: BoundingBox(west: -106.0491006, south: 40.0676815, east: -105.3366006, north: 40.6121815), zoomMax: 10),
  ]

  @Test func sampleRegionsBuildAndVerifyWithoutErrors() throws {
    let demo = try Demo.shared.get()
    #expect(demo.run.status == 0, "\(demo.run)")
    let catalogue = try Catalog(path: demo.folder.file("catalogue.json"))
    #expect(Set(catalogue.regions.map(\.id)) == Set(Demo.only))
    let files = catalogue.regions.flatMap(\.files)
    for file in files {
      #expect(try demo.folder.bytes(file.file).count == file.bytes)
      #expect(try FileHash.sha256(ofFile: demo.folder.file(file.file)) == file.sha256)
    }
    let bundles = files.filter { $0.file.hasSuffix(".mbtiles") }.count
    #expect(demo.run.stdout.contains("verify: \(bundles) bundles"), "\(demo.run)")
    #expect(demo.run.stdout.contains(": valid: ") && demo.run.stdout.contains(".png and so on"), "\(demo.run)")
    #expect(demo.run.stdout.contains("5 regions, 5 made, 0 unchanged"), "\(demo.run)")
    #expect(demo.run.stdout.contains("5 regions, 0 made, 5 unchanged"), "\(demo.run)")
    #expect(demo.run.stdout.contains("overview"), "\(demo.run)")
    #expect(demo.run.stdout.contains("200 image/png"), "\(demo.run)")
    #expect(demo.run.stdout.contains("evidence: clean"), "\(demo.run)")
    #expect(!demo.run.stdout.contains("warning") && !demo.run.stderr.contains("warning"), "\(demo.run)")
    // There are no other files.
    #expect(demo.folder.names == ([".store", ".tilecut", "catalogue.json"] + files.map(\.file)).sorted())
  }

  /// The map store's part of the demo. The script itself compares files and sums, and fails if one differs.
  @Test func sampleRegionsHaveProductIDs() throws {
    let demo = try Demo.shared.get()
    for line in [
      "a search for \"longs\" finds the regions that contain Longs Peak", "nothing is charged twice",
      "anna's phone loses power in the middle of", "the next sync continues it", "which revokes it", "without paying",
      "has a new edition: the patch has", "byte for byte those of the catalogue",
      "/.store/ledger.sqlite, then http://127.0.0.1:8090/catalogue",
      "then http://127.0.0.1:8080/",
    ] {
      #expect(demo.run.stdout.contains(line), "\(line): \(demo.run)")
    }
    // The last lines say how to start the map store again.
    #expect(FileManager.default.fileExists(atPath: demo.folder.file(".store/ledger.sqlite")))
  }

  @Test(arguments: regions) func everySampleRegionHasAPreview(_ region: Region) throws {
    let demo = try Demo.shared.get()
    let pixels = try demo.folder.bytes("\(region.stem).png").withUnsafeBytes { try ImageDecoder.decode($0) }
    #expect(pixels.width >= 512 && pixels.height >= 200)
    var colours: Set<UInt32> = []
    for i in 0..<pixels.width * pixels.height {
      let colour = pixels.bytes.loadUnaligned(fromByteOffset: i * 4, as: UInt32.self)
      colours.insert(colour)
    }
    #expect(colours.count > 200, "a map has more than \(colours.count) colours")
  }

  @Test(arguments: regions) func sampleBundlesHaveTheManifestsMetadata(_ region: Region) throws {
    let demo = try Demo.shared.get()
    let metadata = try SQLiteFile.metadata(demo.folder.file("\(region.stem).mbtiles"))
    let catalog = try RegionManifest(path: ProjectFiles.path("sample-regions/regions.json"))
    let manifest = try #require(catalog.regions.first { $0.id == region.name })
    #expect(metadata["name"] == manifest.title)
    #expect(metadata["description"] == manifest.description)
    #expect(metadata["attribution"] == manifest.settings.cut.attribution)
    #expect(metadata["edition"] == "2026.1" && metadata["region"] == region.name)
    #expect(metadata["minzoom"] == "0" && metadata["maxzoom"] == "\(region.zoomMax)")
  }

  @Test(
    .enabled(if: Command(installed: "gdalinfo") != nil, "gdalinfo is not installed (apt-get install gdal-bin)"),
    arguments: regions)
  func gdalOpensSampleBundles(_ region: Region) throws {
    let demo = try Demo.shared.get()
    let path = demo.folder.file("\(region.stem).mbtiles")
    let before = try demo.folder.bytes("\(region.stem).mbtiles")
    let run = try #require(Command(installed: "gdalinfo")).run(["-json", path])
    let info = try JSONDecoder().decode(GDALInfo.self, from: Data(run.stdout.utf8))
    #expect(info.coordinateSystem.wkt.hasSuffix("ID[\"EPSG\",3857]]"))

    let pixel = info.geoTransform[1]
    let native = 2 * Double.pi * 6_378_137 / 256 / Double(1 << region.zoomMax)
    #expect(abs(pixel - native) < 1e-9 * native, "GDAL opens the deepest zoom")
    let low = info.cornerCoordinates.lowerLeft
    let high = info.cornerCoordinates.upperRight
    let want = TileMatrixSet.webMercatorQuad.crsBounds(ofGeographicBounds: region.bounds)
    for (found, wanted) in [
      (low[0], want.west), (low[1], want.south), (high[0], want.east), (high[1], want.north),
    ] {
      #expect(abs(found - wanted) <= pixel, "\(found) is more than a pixel of \(pixel) m from \(wanted)")
    }
    #expect(info.metadata[""]?["minzoom"] == "0")
    #expect(info.metadata[""]?["maxzoom"] == "\(region.zoomMax)")
    #expect(info.bands.map(\.colorInterpretation) == ["Red", "Green", "Blue", "Alpha"])
    // Reading does not change the bundle.
    #expect(try demo.folder.bytes("\(region.stem).mbtiles") == before)
  }

  struct GDALInfo: Decodable {
    struct CRS: Decodable { let wkt: String }
    struct Corners: Decodable { let lowerLeft, upperRight: [Double] }
    struct Band: Decodable { let colorInterpretation: String }
    let coordinateSystem: CRS
    let geoTransform: [Double]
    let cornerCoordinates: Corners
    let metadata: [String: [String: String]]
    let bands: [Band]
  }
}
