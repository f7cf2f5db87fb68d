import Foundation
import Support
import TestSupport
import Testing
import TileIndex

/// The name of an output chooses its container: `cut`, `extract`, `merge` and `convert`.
@Suite(.ownThread) struct ContainerCommandTests {
  let folder: TemporaryFolder
  let raster: String

  init() throws {
    folder = try TemporaryFolder()
    raster = try folder.writePlacedPicture()
  }

  /// The files that are not the raster's.
  private var made: [String] { folder.names.filter { !$0.hasPrefix("placed.") } }

  private func hash(_ name: String) throws -> TilesHash { try TilesHash.of(BundleFile.open(folder.file(name))) }

  @Test func cutExtractMergeAndConvertWriteEveryContainer() throws {
    let flat = folder.file("a.mbtiles")
    #expect(try tilecut("cut", raster, "-o", flat, "--zoom", "0-3").status == 0)
    let expected = try hash("a.mbtiles")
    for (name, kind) in [
      ("b.pmtiles", BundleContainer.pmtiles), ("b/", .folder), ("b.gpkg", .geopackage), ("b.mbtiles", .mbtiles),
    ] {
      let output = folder.file(name)
      for words in [
        ["cut", raster, "--zoom", "0-3", "-o", output], ["extract", flat, "-o", output], ["merge", flat, "-o", output],
        ["convert", flat, output],
      ] {
        let run = try Command(built: "tilecut").run(words + ["--force"])
        #expect(run.status == 0 && run.stdout.hasPrefix("\(output): 5 tiles, zoom 0-3, "), "\(run)")
        #expect(BundleFile.kind(output) == kind)
        #expect(try hash(name) == expected, "\(words)")
        try expectValid(output)
      }
      expectRefusal(try tilecut("convert", flat, output), status: 73, naming: output)
      let inspection = try tilecut("inspect", output)
      #expect(inspection.status == 0 && inspection.stdout.contains("tiles      5, "), "\(inspection)")
      let sheet = try tilecut("preview", output, "--contact-sheet", "-o", folder.file("sheet.png"), "--force")
      #expect(sheet.status == 0, "\(sheet)")
    }
    #expect(made == ["a.mbtiles", "b", "b.gpkg", "b.mbtiles", "b.pmtiles", "sheet.png"])
  }

  /// A folder that is there needs no slash at its end, unlike one that is to be written.
  @Test func aFolderIsAddedToWithOrWithoutASlash() throws {
    for name in ["a/", "b/"] {
      #expect(try tilecut("cut", raster, "-o", folder.file(name), "--zoom", "0-3").status == 0)
    }
    let more = try folder.writePlacedPicture("more.png", edge: 32)
    let before = try hash("a/")
    for name in ["a", "b/"] {
      let run = try tilecut("cut", more, "--append", folder.file(name))
      #expect(run.status == 0 && run.stdout.contains(": 5 tiles, zoom 0-3, "), "\(run)")
    }
    #expect(try hash("a/") == hash("b/") && hash("a/") != before)
    try expectValid(folder.file("a"))
    #expect(made == ["a", "b", "more.pgw", "more.png", "more.prj"])
  }

  /// Standard output is one JSON object, whose members have the same names in all commands.
  @Test func whatIsWrittenIsToldAsJSON() throws {
    let flat = folder.file("a.mbtiles")
    for words in [
      ["cut", raster, "-o", flat, "--zoom", "0-3"], ["extract", flat, "-o", folder.file("b.pmtiles")],
      ["merge", flat, "-o", folder.file("c.pmtiles")], ["convert", flat, folder.file("d.pmtiles")],
    ] {
      let run = try Command(built: "tilecut").run(words + ["--json"])
      let json = try JSONValue(parsing: Array(run.stdout.utf8))
      #expect(run.status == 0 && json["tiles"] == .number(5) && json["distinctTiles"] == .number(5), "\(run)")
      #expect(json["minzoom"] == .number(0) && json["maxzoom"] == .number(3), "\(run)")
      let path = try #require(json["path"]?.string)
      #expect(words.contains(path) && json["bytes"] == .number(FileSystem.size(path)), "\(run)")
      #expect((json["seconds"] != nil) == (words[0] == "cut"), "\(run)")
      #expect(json["warnings"] == .array([]), "\(run)")
    }
  }

  @Test(arguments: ["pmtiles", "gpkg"]) func filesDoNotDependOnThreads(_ container: String) throws {
    for name in ["a.\(container)", "b.\(container)"] {
      let threads = name.hasPrefix("a") ? "1" : "3"
      #expect(
        try tilecut("cut", raster, "-o", folder.file(name), "--zoom", "0-5", "--threads", threads).status == 0)
    }
    #expect(try folder.bytes("a.\(container)") == folder.bytes("b.\(container)"))
  }

  /// The reference reader of archives, from PyPI.
  private static let pmtiles = ProjectFiles.path(".build/pmtiles")

  @Test(
    .enabled(
      if: FileManager.default.isReadableFile(atPath: "\(pmtiles)/bin/pmtiles-convert"),
      "pmtiles is not installed (scripts/install-python-tools.sh)"))
  func pmtilesToolsReadEveryTileOfAnArchive() throws {
    let (archive, back) = (folder.file("a.pmtiles"), folder.file("b.mbtiles"))
    #expect(try tilecut("cut", raster, "-o", archive, "--zoom", "0-5").status == 0)
    func python(_ words: String...) throws -> CommandRun {
      try #require(Command(installed: "python3")).run(
        ["\(Self.pmtiles)/bin/\(words[0])"] + words.dropFirst(), environment: ["PYTHONPATH": Self.pmtiles])
    }
    let shown = try python("pmtiles-show", archive)
    #expect(shown.status == 0 && shown.stdout.contains("'clustered': True"), "\(shown)")
    let converted = try python("pmtiles-convert", archive, back)
    #expect(converted.status == 0, "\(converted)")
    #expect(try hash("b.mbtiles") == hash("a.pmtiles"))
  }

  /// What go-pmtiles' `verify` checks, by PyPI's reader: without and with leaf directories, and with a wrong count.
  @Test(
    .enabled(
      if: FileManager.default.isReadableFile(atPath: "\(pmtiles)/pmtiles/reader.py"),
      "pmtiles is not installed (scripts/install-python-tools.sh)"))
  func archivesPassTheChecksOfPmtilesVerify() throws {
    let script = ProjectFiles.path("scripts/pmtiles-verify.py")
    func verify(_ path: String) throws -> CommandRun {
      try #require(Command(installed: "python3")).run([script, path], environment: ["PYTHONPATH": Self.pmtiles])
    }
    let (small, large) = (folder.file("small.pmtiles"), folder.file("large.pmtiles"))
    #expect(try tilecut("cut", raster, "-o", small, "--zoom", "0-5").status == 0)
    let writer = try BundleFile.create(large, matrixSet: .webMercatorQuad, format: .png)
    let head: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
    for tile in TileMatrixSet.webMercatorQuad.wholeRange(zoom: 7) {
      // Sea in between, and nothing in some places.
      if tile.column % 5 == 4 { continue }
      try writer.put(tile, head + (tile.row % 3 == 0 ? [] : [UInt8(tile.column), UInt8(tile.row)]))
    }
    _ = try writer.finish(BundleMetadata(name: "large"))
    #expect(try tilecut("inspect", large).stdoutLines[0].contains("clustered, "))
    for path in [small, large] {
      let run = try verify(path)
      #expect(run.status == 0 && run.stdout.isEmpty, "\(run)")
    }
    var bytes = try folder.bytes("large.pmtiles")
    bytes[72] ^= 1
    try bytes.write(to: folder.url.appendingPathComponent("wrong.pmtiles"))
    let wrong = try verify(folder.file("wrong.pmtiles"))
    #expect(wrong.status == 1 && wrong.stdout.contains("addressed_tiles_count"), "\(wrong)")
  }

  @Test func rowsOfFoldersMayCountFromTheSouth() throws {
    let output = folder.file("tms/")
    #expect(try tilecut("cut", raster, "-o", output, "--zoom", "3", "--scheme", "tms").status == 0)
    #expect(FileManager.default.fileExists(atPath: output + "3/4/5.png"))
    expectRefusal(try tilecut("cut", raster, "-o", folder.file("x.pmtiles"), "--scheme", "tms"), status: 64)
  }

  /// A grid in a CRS of its own goes through commands that know no PROJ, and is served.
  @Test func gridsInOtherSystemsGoThroughEveryContainer() throws {
    let park = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")
    let grid = try folder.write("utm.json", GridDocument.colorado.json())
    let map = folder.file("utm.mbtiles")
    #expect(try tilecut("cut", park, "-o", map, "--matrix", grid).status == 0)
    try expectValid(map)
    for name in ["utm.gpkg", "utm/", "again.mbtiles"] {
      #expect(try tilecut("convert", map, folder.file(name)).status == 0)
      #expect(try hash(name) == hash("utm.mbtiles"))
      try expectValid(folder.file(name))
    }
    expectRefusal(try tilecut("convert", map, folder.file("utm.pmtiles")), status: 65, naming: "Web Mercator")
    let inspection = try tilecut("inspect", folder.file("again.mbtiles"))
    #expect(inspection.status == 0 && inspection.stdout.contains("EPSG:32613"), "\(inspection)")
    #expect(try tilecut("preview", map, "-o", folder.file("utm.png")).status == 0)
    let part = try tilecut("extract", map, "-o", folder.file("part.mbtiles"), "--bounds", "-105.7,40.2,-105.6,40.3")
    #expect(part.status == 0, "\(part)")
    let box = try #require(try BundleFile.open(folder.file("part.mbtiles")).metadata.bounds)
    #expect(box.contains(SIMD2(-105.65, 40.25)) && box.west > -106.2 && box.north < 40.7, "\(box)")
    let region = """
      {"id": "park", "title": "Park", "category": "park", "edition": "1", "sources": ["\(park)"],
       "matrix": \(GridDocument.colorado.json())}
      """
    let manifest = try folder.write("regions.json", "{\"regions\": [\(region)]}")
    let build = try tilecut("build", manifest, "-o", folder.file("catalogue"))
    #expect(build.status == 0, "\(build)")
    #expect(try hash("catalogue/park-1.mbtiles") == hash("utm.mbtiles"))
    let server = try RunningServer([map])
    #expect(try server.get("/utm.json").text.contains("EPSG:32613"))
    #expect(try server.get("/wmts/1.0.0/WMTSCapabilities.xml").text.contains("urn:ogc:def:crs:EPSG::32613"))
  }

  /// A container that is not written here is not imitated.
  @Test(arguments: ["x.zip", "x.tif", "x.tar.gz"]) func otherExtensionsAreRefused(name: String) throws {
    expectRefusal(try tilecut("cut", raster, "-o", folder.file(name)), status: 64, naming: name, ".pmtiles")
    expectRefusal(
      try tilecut("cut", raster, "-o", folder.file("x.pmtiles"), "--matrix", "WorldCRS84Quad"), status: 65,
      naming: "Web Mercator")
    #expect(made == [])
  }

  /// `kill -9`, and a signal: neither a file nor a folder is left, or the next run removes it.
  @Test(arguments: ["out.pmtiles", "out/", "out.gpkg"], [SIGKILL, SIGTERM]) func stoppedCutsLeaveNothing(
    name: String, signal: Int32
  ) throws {
    let large = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")
    let output = folder.file(name)
    let cut = try Command(built: "tilecut").start(["cut", large, "-o", output, "--zoom", "0-17", "--threads", "1"])
    let began = cut.wait(timeout: 60) {
      made.contains {
        FileManager.default.contents(atPath: folder.file($0))?.isEmpty == false || $0.hasSuffix("partial")
      }
    }
    #expect(began)
    cut.send(signal)
    _ = cut.wait(timeout: 20)
    if signal == SIGTERM { #expect(made == []) } else { #expect(made.count == 1 && made[0].hasPrefix(".out")) }
    #expect(try tilecut("cut", raster, "-o", output, "--zoom", "0").status == 0)
    #expect(made == [name == "out/" ? "out" : name])
    try expectValid(output)
  }

  /// A folder that is read stays as it is.
  @Test func outputsInsideAFolderThatIsReadAreRefused() throws {
    let tiles = folder.file("tiles/")
    #expect(try tilecut("cut", raster, "-o", tiles, "--zoom", "0-3").status == 0)
    let link = folder.file("link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.file("tiles/3"))
    for output in [tiles + "in/", tiles + "in.pmtiles", tiles + "3/4/x.mbtiles", link + "/x.gpkg"] {
      for words in [["convert", tiles, output], ["extract", folder.file("tiles"), "-o", output]] {
        expectRefusal(try Command(built: "tilecut").run(words + ["--force"]), status: 64, naming: output, "inside")
      }
    }
    // A name that only begins alike.
    #expect(try tilecut("convert", tiles, folder.file("tiles2/")).status == 0)
    #expect(made == ["link", "tiles", "tiles2"])
    #expect(try hash("tiles/") == hash("tiles2/"))
  }

  @Test func texturesAreNotWrittenUnderTheNameOfABundle() throws {
    let bundle = folder.file("a.mbtiles")
    #expect(try tilecut("cut", raster, "-o", bundle, "--zoom", "0", "--scale-factor", "2").status == 0)
    for name in ["x.pmtiles", "x.mbtiles", "x.gpkg", "x.png", "x.json", "x.mbtile"] {
      let run = try tilecut("textures", bundle, "-o", folder.file(name))
      expectRefusal(run, status: 64, naming: name, "name a folder: 'x/'")
    }
    #expect(made == ["a.mbtiles"])
  }

  /// A name that is nearly a container's would become MBTiles.
  @Test func misspelledExtensionsAreRefused() throws {
    for (wrong, right) in [
      ("mbtile", "mbtiles"), ("MBTile", "mbtiles"), ("pmtile", "pmtiles"), ("gpk", "gpkg"), ("geopackage", "gpkg"),
    ] {
      let run = try tilecut("cut", raster, "-o", folder.file("a.\(wrong)"), "--zoom", "0")
      expectRefusal(run, status: 64, naming: "a.\(wrong): ", "did you mean .\(right)?")
    }
    #expect(made.isEmpty)
  }

  /// Names of formats that are not written, in each command that writes a bundle.
  @Test func namesOfOtherFormatsAreRefused() throws {
    let bundle = folder.file("a.mbtiles")
    #expect(try tilecut("cut", raster, "-o", bundle, "--zoom", "0").status == 0)
    for name in ["kmz", "sqlitedb", "jp2", "db", "KML", "mbtiles.part"] {
      let output = folder.file("out.\(name)")
      for command in [
        ["cut", raster, "-o", output, "--zoom", "0"], ["convert", bundle, output],
        ["extract", bundle, "-o", output, "--bounds=-180,-80,180,80"], ["merge", bundle, "-o", output],
        ["cut", raster, "--append", bundle, "-o", output],
      ] {
        let run = try Command(built: "tilecut").run(command)
        expectRefusal(run, status: 64, naming: output, ".mbtiles, .pmtiles or .gpkg")
      }
    }
    #expect(!folder.names.contains { $0.hasPrefix("out.") })
  }

  /// Every other name is that of MBTiles, which is said where the name does not.
  @Test func theContainerIsNamedWhereTheNameDoesNotSayIt() throws {
    for name in ["noext", "out.v2", "a.mbtiles-2026"] {
      let output = folder.file(name)
      let run = try tilecut("cut", raster, "-o", output, "--zoom", "0")
      #expect(run.status == 0 && run.stdout.hasPrefix("\(output): MBTiles, 1 tile, zoom 0, "), "\(run)")
      #expect(BundleFile.kind(output) == .mbtiles)
    }
    let converted = try tilecut("convert", folder.file("noext"), folder.file("other"))
    #expect(converted.status == 0 && converted.stdout.contains("/other: MBTiles, 1 tile, "), "\(converted)")
  }

  @Test func nothingIsWrittenUnderTheNameOfStandardOutput() throws {
    let bundle = folder.file("a.mbtiles")
    #expect(try tilecut("cut", raster, "-o", bundle, "--zoom", "0").status == 0)
    for words in [
      ["cut", raster, "-o", "-"], ["extract", bundle, "-o", "-"], ["preview", bundle, "-o", "-"],
      ["plan", raster, "-o", "-"], ["merge", bundle, "-o", "-"], ["convert", bundle, "-o", "-"],
      ["diff", bundle, bundle, "-o", "-"], ["textures", bundle, "-o", "-"],
    ] {
      let run = try Command(built: "tilecut").run(words, in: folder.path)
      expectRefusal(run, status: 64, naming: "-: cannot be written to standard output; name a file")
    }
    #expect(made == ["a.mbtiles"])
    #expect(try tilecut("convert", bundle, "./-", in: folder.path).status == 0)
  }

  @Test func inspectSaysInWordsHowTilesAreStored() throws {
    let bundle = folder.file("a.mbtiles")
    #expect(try tilecut("cut", raster, "-o", bundle, "--zoom", "0").status == 0)
    let run = try tilecut("inspect", bundle)
    #expect(run.stdoutLines[0].contains("MBTiles, tables map and images, pages of"), "\(run)")
  }

  @Test func metadataAreReadAndChanged() throws {
    let bundle = folder.file("a.mbtiles")
    #expect(try tilecut("cut", raster, "-o", bundle, "--zoom", "0-3").status == 0)
    #expect(try tilecut("metadata", "get", bundle, "maxzoom").stdout == "3\n")
    #expect(try tilecut("metadata", "set", bundle, "attribution", "us and them").status == 0)
    #expect(try tilecut("metadata", "set", bundle, "bounds", "-170.5,-20,19,48").status == 0)
    #expect(try tilecut("metadata", "get", bundle, "attribution").stdout == "us and them\n")
    #expect(try tilecut("metadata", "get", bundle).stdout.contains("bounds: -170.5,-20,19,48\n"))
    #expect(try tilecut("metadata", "set", bundle, "attribution").status == 0)
    let rows = try tilecut("metadata", "set", bundle, "attribution", "us", "--json")
    #expect(try rows.stdout == tilecut("metadata", "get", bundle, "--json").stdout && rows.stdout.contains(#""us""#))
    #expect(try tilecut("metadata", "set", bundle, "attribution").stdout.isEmpty)
    expectRefusal(try tilecut("metadata", "get", bundle, "attribution"), status: 66, naming: "attribution")
    expectRefusal(try tilecut("metadata", "set", bundle, "type", "map"), status: 65, naming: "baselayer")
    expectRefusal(try tilecut("metadata", "set", bundle, "x", "a", "b"), status: 64)
    expectRefusal(try tilecut("metadata", "set", bundle, "x", "--jsno"), status: 64, naming: "--jsno")
    #expect(made == ["a.mbtiles"])
  }
}
