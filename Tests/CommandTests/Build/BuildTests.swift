import Foundation
import RegionCatalog
import Support
import TestSupport
import Testing
import TileCut
import TileImage

@testable import TileIndex

/// `tilecut build` from one state of the manifest to the next.
@Suite(.ownThread) struct BuildTests {
  @Test func buildWritesTheFilesThatTheCatalogLists() throws {
    let catalog = try BuiltCatalog.built()
    let run = try BuiltCatalog.buildRun()
    #expect(run.stderrLines.count == 4 && run.stderr.contains("] levels 1: built, "), "\(run)")
    let catalogue = try catalog.catalogue()
    #expect(catalogue.regions.map(\.id) == ["whole", "degrees", "levels", "jpeg"])
    try catalog.expectConsistent()
    #expect(catalog.names == (catalogue.regions.flatMap(\.files).map(\.file) + ["catalogue.json"]).sorted())
    for region in catalogue.regions {
      try expectValid(catalog.path(region.file))
      let reader = try MBTilesReader(path: catalog.path(region.file))
      #expect(reader.matrixSet == region.matrixSet && reader.metadata["region"] == region.id)
      #expect(try reader.tileCount() == region.tileCount && reader.zooms() == Array(region.minzoom...region.maxzoom))
      #expect(try TilesHash.of(reader).description == region.tilesHash)
      #expect(reader.metadata.bounds == region.boundingBox && reader.metadata.format == region.format)
      #expect(region.preview?.file == "\(region.id)-1.png")
    }
    let whole = try MBTilesReader(path: catalog.path("whole-1.mbtiles"))
    #expect(try whole.places().valid.map(\.name) == ["Here"])
  }

  /// Packs are smaller than the limit, and merged by the tool they give the region's bundle.
  @Test func packsOfARegionMergeToTheWholeRegion() throws {
    let catalog = try BuiltCatalog.built()
    for (id, limit) in [("degrees", 400_000), ("levels", 400_000)] {
      let catalogue = try catalog.catalogue()
      let region = try #require(catalogue[id])
      #expect(region.packs.count > 2 && region.packs[0].isOverview, "\(region.packs.count)")
      let whole = try MBTilesReader(path: catalog.path(region.file))
      let index = TilePackIndex(region)
      var count = 0
      for (number, pack) in region.packs.enumerated() {
        #expect(pack.bytes <= limit)
        try expectValid(catalog.path(pack.file))
        let reader = try MBTilesReader(path: catalog.path(pack.file))
        #expect(try reader.tileCount() == pack.tileCount)
        #expect(try reader.zooms().first == pack.minzoom && reader.zooms().last == pack.maxzoom)
        try reader.forEachTile { tile, bytes in
          #expect(index.pack(of: tile) == number, "\(tile)")
          let stored = try whole.tile(tile)
          #expect(stored == Array(bytes), "\(tile)")
          count += 1
        }
      }
      #expect(count == region.tileCount)
      let merged = catalog.folder.file("\(id).mbtiles")
      let run = try Command(built: "tilecut").run(
        ["merge"] + region.packs.map { catalog.path($0.file) } + ["-o", merged])
      #expect(run.status == 0, "\(run)")
      let reader = try MBTilesReader(path: merged)
      #expect(try TilesHash.of(reader).description == region.tilesHash)
      // Its metadata is that of the whole, without what marks a pack.
      #expect(reader.metadata["pack"] == nil && reader.metadata["region"] == id)
      #expect(reader.metadata.bounds == region.boundingBox && reader.metadata.name == whole.metadata.name)
    }
  }

  @Test func unchangedRegionsAreNotBuiltAgain() throws {
    let catalog = try BuiltCatalog.built()
    let before = try catalog.contents()
    let stamps = try catalog.names.map {
      try FileManager.default.attributesOfItem(atPath: catalog.path($0)) as NSDictionary
    }
    let again = try catalog.build()
    #expect(again.status == 0 && again.stdout.contains("4 regions, 0 made, 4 unchanged"), "\(again)")
    #expect(try catalog.contents() == before)
    #expect(
      try catalog.names.map { try FileManager.default.attributesOfItem(atPath: catalog.path($0)) as NSDictionary }
        == stamps
    )

    // A copy of the folder has other inodes and times, and the same content.
    let copy = catalog.folder.file("copy")
    try FileManager.default.copyItem(atPath: catalog.output, toPath: copy)
    let copied = try tilecut("build", catalog.manifest, "-o", copy)
    #expect(copied.stdout.contains("0 made"), "\(copied)")

    // A fact that only the catalogue has needs no cut.
    try catalog.writeVariety(last: #", "priceTier": "low""#)
    let priced = try catalog.build()
    let tier = try catalog.catalogue()["jpeg"]?.priceTier
    #expect(priced.stdout.contains("0 made") && tier == "low", "\(priced)")

    // If only the size of packs changes, only they are built.
    try catalog.writeVariety(last: #", "priceTier": "low""#, packs: 600_000)
    let split = try catalog.build()
    #expect(split.stdout.contains("4 regions, 1 made") && split.stderr.contains("degrees 1: updated"), "\(split)")
    #expect(try catalog.contents()["degrees-1.mbtiles"] == before["degrees-1.mbtiles"])
    try catalog.expectConsistent()
    #expect(
      catalog.names == (try catalog.catalogue().regions.flatMap(\.files).map(\.file) + ["catalogue.json"]).sorted())
  }

  /// The short form of ``everyKindOfChangedInputIsBuiltAgain()``.
  @Test func changedSourceIsBuiltAgain() throws {
    let catalog = try BuiltCatalog()
    try catalog.write(
      [BuiltCatalog.region("a"), BuiltCatalog.region("b", #", "sources": ["other.png"]"#)].joined(separator: ","))
    #expect(try catalog.build().status == 0)
    _ = try catalog.folder.writePlacedPicture("other.png", edge: 32)
    let run = try catalog.build()
    #expect(run.stderr.contains("b 1: built") && run.stdout.contains("1 made, 1 unchanged"), "\(run)")
    let place = "<PAMDataset><GeoTransform>10, 1, 0, 50, 0, -1</GeoTransform></PAMDataset>"
    try catalog.folder.write("other.png.aux.xml", place)
    let moved = try catalog.build()
    #expect(moved.stderr.contains("b 1: built") && moved.stdout.contains("1 made, 1 unchanged"), "\(moved)")
    try Data("x".utf8).write(to: URL(fileURLWithPath: catalog.path("a-1.mbtiles")))
    let mended = try catalog.build()
    #expect(mended.stderr.contains("a 1: built") && mended.stdout.contains("1 made, 1 unchanged"), "\(mended)")
  }

  @Test(.long) func everyKindOfChangedInputIsBuiltAgain() throws {
    let catalog = try BuiltCatalog.built()
    // A source of one region; a source's side file; a gazetteer.
    _ = try catalog.folder.writePlacedPicture("other.png", edge: 32)
    let first = try catalog.build()
    #expect(first.stderr.contains("degrees 1: built") && first.stdout.contains("1 made"), "\(first)")
    try catalog.folder.write("placed.wld", "1\n0\n0\n-1\n10\n50\n")
    let second = try catalog.build()
    #expect(second.stdout.contains("3 made") && second.stderr.contains("degrees 1: unchanged"), "\(second)")
    let places = try String(contentsOfFile: catalog.folder.file("places.geojson"), encoding: .utf8)
    try catalog.folder.write("places.geojson", places.replacingOccurrences(of: "Here", with: "There"))
    let third = try catalog.build()
    #expect(third.stderr.contains("whole 1: built") && third.stdout.contains("1 made"), "\(third)")
    // Damage of the output itself.
    try Data("x".utf8).write(to: URL(fileURLWithPath: catalog.path("jpeg-1.mbtiles")))
    let fourth = try catalog.build()
    #expect(fourth.stderr.contains("jpeg 1: built") && fourth.stdout.contains("1 made"), "\(fourth)")
    try FileManager.default.removeItem(atPath: catalog.path("whole-1.png"))
    let fifth = try catalog.build()
    #expect(fifth.stderr.contains("whole 1: updated") && fifth.stdout.contains("1 made"), "\(fifth)")
    try catalog.expectConsistent()
    #expect(try catalog.build("--rebuild").stdout.contains("4 made"))
  }

  /// The command's own version is fixed, so this test calls the library.
  @Test func anotherToolVersionBuildsEverythingAgain() throws {
    let catalog = try BuiltCatalog()
    try catalog.write([BuiltCatalog.region("a"), BuiltCatalog.region("b")].joined(separator: ","))
    func outcomes(_ version: String) throws -> [RegionReport.Outcome] {
      let manifest = try RegionManifest(path: catalog.manifest)
      let options = CatalogBuildOptions(manifest: manifest, output: catalog.output, toolVersion: version)
      return try CatalogBuilder(options).build().regions.map(\.outcome)
    }
    #expect(try outcomes("1") == [.built, .built])
    #expect(try outcomes("1") == [.unchanged, .unchanged])
    #expect(try outcomes("2") == [.built, .built])
  }

  @Test func onlyOneOfTwoBuildsInAFolderRuns() throws {
    let catalog = try BuiltCatalog()
    try catalog.write(BuiltCatalog.region("a"))
    #expect(try catalog.build().status == 0)
    var lock = try FolderLock("\(catalog.output)/.tilecut/lock")
    #expect(lock != nil)
    let run = try catalog.build()
    #expect(run.status == 75 && run.stderr.contains("another tilecut build is at work in it"), "\(run)")
    lock = nil
    #expect(try catalog.build().status == 0)
  }

  /// A catalogue that cannot be read may have another owner; the message names the remedy.
  @Test func damagedCatalogIsNotOverwritten() throws {
    let catalog = try BuiltCatalog()
    try catalog.write(BuiltCatalog.region("a"))
    #expect(try catalog.build().status == 0)
    let whole = try catalog.contents()
    for text in ["{", #"{"version":2,"regions":[]}"#] {
      try catalog.folder.write("dist/catalogue.json", text)
      expectRefusal(try catalog.build(), status: 65, naming: catalog.path("catalogue.json"), "remove it")
      #expect(try String(contentsOfFile: catalog.path("catalogue.json"), encoding: .utf8) == text)
    }
    try FileManager.default.removeItem(atPath: catalog.path("catalogue.json"))
    let mended = try catalog.build()
    #expect(mended.stdout.contains("1 region, 0 made"), "\(mended)")
    #expect(try catalog.contents() == whole)
  }

  /// A region that fits into one pack is downloaded as it is: a pack would be a copy of it.
  @Test func regionsWithinTheLimitHaveNoPackOfTheirOwn() throws {
    let catalog = try BuiltCatalog.built()
    #expect(try catalog.build("--pack-bytes", "10MB").status == 0)
    let catalogue = try catalog.catalogue()
    #expect(catalogue.regions.allSatisfy { $0.packs.isEmpty && $0.bytes < 10_000_000 })
    #expect(!catalog.names.contains { $0.contains(".p001.") })
    try catalog.expectConsistent()
    let found = try tilecut("packs", catalog.output, "--point", "15,45", "--region", "degrees")
    #expect(found.stdout.contains("degrees-1.mbtiles") && found.stdout.contains("whole region"), "\(found)")
  }

  /// The bundle, which takes long, is not built again because its packs failed.
  @Test func bundleIsKeptWhenItsPacksCannotBeBuilt() throws {
    let catalog = try BuiltCatalog()
    let noise =
      #", "sources": ["noise.png"], "matrix": {"id": "L", "tileEdges": [24, 8, 2], "tileSizes": [384]}, "zoom": [0, 2]"#
    try catalog.write([BuiltCatalog.region("a"), BuiltCatalog.region("n", noise)].joined(separator: ","))
    let run = try catalog.build("--pack-bytes", "256kB")
    expectRefusal(run, status: 64, naming: "1 region of 2")
    let line = try #require(run.stderrLines.first { $0.contains("] n: failed: ") })
    #expect(line.contains("alone does not fit into a pack of 256000 bytes; allow packs of at least"), "\(run)")
    #expect(catalog.names.isEmpty)
    // The limit that the message names is enough.
    let wanted = try #require(line.split(separator: " ").dropLast().last.flatMap { Int($0) }, "\(run)")
    let mended = try catalog.build("--pack-bytes", "\(wanted)")
    #expect(mended.status == 0 && mended.stderr.contains("n 1: updated"), "\(mended)")
    try catalog.expectConsistent()
  }

  /// Bounds across the antimeridian, and a boundary that it cuts in two, stay one region of its own width.
  @Test func regionsMayCrossTheAntimeridian() throws {
    let catalog = try BuiltCatalog()
    _ = try catalog.folder.writePicture("world.png", width: 256, height: 128)
    try catalog.folder.write("world.pgw", "1.40625\n0\n0\n-1.40625\n-179.296875\n89.296875\n")
    try catalog.folder.write("world.prj", "EPSG:4326")
    let boundary =
      #"""
      {"type": "MultiPolygon", "coordinates": [[[[170, -5], [180, -25], [180, -5], [170, -5]]], [[[-180, -25], [-170, \#
      -5], [-180, -5], [-180, -25]]]]}
      """#
    try catalog.write(
      [
        BuiltCatalog.region("a", #", "bounds": [170, -25, -170, -5]"#),
        BuiltCatalog.region("b", #", "bounds": [170, -25, -170, -5], "matrix": "WorldCRS84Quad", "packBytes": 256000"#),
        BuiltCatalog.region("c", #", "boundary": \#(boundary)"#),
      ].joined(separator: ","),
      defaults: #""edition": "1", "sources": ["world.png"], "zoom": [0, 3], "preview": {"width": 64}"#)
    let run = try catalog.build()
    #expect(run.status == 0, "\(run)")
    try catalog.expectConsistent()
    for region in try catalog.catalogue().regions {
      #expect(region.bounds == [170, -25, -170, -5], "\(region.id)")
      try expectValid(catalog.path(region.file))
      let preview = try catalog.folder.bytes("dist/\(region.id)-1.png").withUnsafeBytes { try ImageDecoder.decode($0) }
      #expect(preview.width == 64 && (60...70).contains(preview.height), "\(region.id) \(preview.height)")
    }
    func found(_ place: String) throws -> [String] {
      try tilecut("packs", catalog.output, "--point=\(place)").stdoutLines.dropLast().map { String($0.prefix(1)) }
    }
    #expect(try found("179,-15") == ["a", "b", "c"] && found("-179,-15") == ["a", "b", "c"])
    #expect(try found("0,-15").isEmpty)
  }

  /// The short form of ``bytesDoNotDependOnFolderThreadsOrOrder()``.
  @Test func twoBuildsGiveTheSameBytes() throws {
    let (one, two) = (try BuiltCatalog(), try BuiltCatalog())
    for catalog in [one, two] {
      try catalog.write(
        [BuiltCatalog.region("a"), BuiltCatalog.region("b", #", "format": "jpeg""#)].joined(separator: ","))
    }
    #expect(try one.build("--jobs", "1").status == 0)
    #expect(try two.build("--jobs", "2", "--memory", "128MB").status == 0)
    #expect(try one.contents() == two.contents())
  }

  /// The same inputs give the same bytes in any folder, on any number of threads, in any order.
  @Test(.long) func bytesDoNotDependOnFolderThreadsOrOrder() throws {
    let (one, two) = (try BuiltCatalog(), try BuiltCatalog())
    try one.writeVariety()
    try two.writeVariety()
    #expect(try one.build("--jobs", "1").status == 0)
    #expect(try two.build("--jobs", "4", "--memory", "128MB", "--region", "jpeg", "levels").status == 0)
    #expect(try two.catalogue().regions.map(\.id) == ["levels", "jpeg"])
    #expect(try two.build("--jobs", "3").status == 0)
    #expect(try one.contents() == two.contents())
  }

  @Test func newEditionComesWithAPatchFromTheOldOne() throws {
    let catalog = try BuiltCatalog.built()
    let first = try catalog.catalogue()
    _ = try catalog.folder.writePlacedPicture("other.png", edge: 47)
    try catalog.writeVariety(edition: "2026-2")
    let run = try catalog.build("--patches-from", catalog.output)
    #expect(run.status == 0, "\(run)")
    try catalog.expectConsistent()
    let second = try catalog.catalogue()
    for region in second.regions {
      let old = try #require(first[region.id])
      let patch = try #require(region.patches.first, "\(region.id): \(run)")
      #expect(patch.fromEdition == "1" && patch.fromTilesHash == old.tilesHash && patch.bytes < region.bytes)
      // The bundle of the earlier edition is still there, and the patch turns it into the new one.
      let output = catalog.folder.file("applied.mbtiles")
      let applied = try tilecut("apply", catalog.path(patch.file), catalog.path(old.file), "-o", output, "--force")
      #expect(applied.status == 0, "\(applied)")
      #expect(try FileHash.sha256(ofFile: output) == region.sha256, "\(region.id)")
    }
    // Packs and previews of the earlier edition are gone.
    let listed = second.regions.flatMap(\.files).map(\.file)
    #expect(Set(catalog.names) == Set(listed + ["catalogue.json"] + first.regions.map(\.file)))
    #expect(try catalog.build("--patches-from", catalog.output).stdout.contains("0 made"))
    let pruned = try catalog.build("--prune")
    #expect(
      pruned.status == 0 && Set(catalog.names) == Set(listed + ["catalogue.json"]).filter { !$0.hasSuffix(".patch") })
  }

  /// Bundles and packs in every container have the tiles, places and metadata of MBTiles; patches lead to MBTiles
  /// alone.
  @Test func regionsMayHaveOtherContainers() throws {
    let catalog = try BuiltCatalog()
    let contents = #", "sources": ["placed.png", "noise.png"], "packBytes": 400000, "gazetteers": ["places.geojson"]"#
    func write(edition: String) throws {
      try catalog.write(
        [("a", "mbtiles"), ("b", "pmtiles"), ("c", "geopackage")].map { id, container in
          BuiltCatalog.region(id, #"\#(contents), "zoom": [0, 6], "container": "\#(container)""#)
        }.joined(separator: ","), defaults: #""edition": "\#(edition)""#)
    }
    try write(edition: "1")
    try catalog.writePlaces()
    #expect(try catalog.build().status == 0)
    let regions = try catalog.catalogue().regions
    #expect(regions.map(\.file) == ["a-1.mbtiles", "b-1.pmtiles", "c-1.gpkg"])
    try catalog.expectConsistent()
    #expect(Set(regions.map(\.tilesHash)).count == 1 && Set(regions.map(\.bounds)).count == 1)
    for region in regions {
      let whole = try BundleFile.open(catalog.path(region.file))
      #expect(try whole.places().valid.map(\.name) == ["Here"] && whole.metadata["region"] == region.id)
      #expect(try whole.metadata["edition"] == "1" && TilesHash.of(whole).description == region.tilesHash)
      try expectValid(catalog.path(region.file))
      #expect(region.packs.count > 2 && region.packs.allSatisfy { $0.bytes <= 400_000 }, "\(region.id)")
      let merged = catalog.folder.file("merged-\(region.file)")
      let run = try Command(built: "tilecut").run(
        ["merge"] + region.packs.map { catalog.path($0.file) } + ["-o", merged])
      #expect(try run.status == 0 && TilesHash.of(BundleFile.open(merged)).description == region.tilesHash, "\(run)")
    }
    #expect(try catalog.build().stdout.contains("0 made"))

    _ = try catalog.folder.writePlacedPicture("placed.png", edge: 40)
    try write(edition: "2")
    let run = try catalog.build("--patches-from", catalog.output)
    #expect(try catalog.catalogue().regions.map(\.patches.count) == [1, 0, 0], "\(run)")
    for (id, container) in [("b", "pmtiles"), ("c", "geopackage")] {
      let warning = "\(id): no patch leads to it: patches make MBTiles, and its container is \(container)"
      #expect(run.stderr.contains("warning: \(warning)"), "\(run)")
    }
  }

  @Test func aDryRunSaysWhatWouldBeBuilt() throws {
    let catalog = try BuiltCatalog()
    try catalog.write(
      [BuiltCatalog.region("a"), BuiltCatalog.region("b", #", "sources": ["other.png"]"#)].joined(separator: ","))
    let first = try tilecut("build", catalog.manifest, "-o", catalog.output, "--dry-run")
    let lines = first.stdoutLines
    let sum = try #require(lines.last)
    #expect(first.status == 0 && lines.count == 3, "\(first)")
    #expect(lines[0].hasPrefix("a 1: built, about ") && lines[1].hasPrefix("b 1: built, about "), "\(first)")
    #expect(sum.hasPrefix("\(catalog.output): 2 regions, 2 to make, about "), "\(first)")
    #expect(!catalog.folder.names.contains("dist"))

    #expect(try catalog.build().status == 0)
    let tiles = try catalog.catalogue().regions.reduce(0) { $0 + $1.tileCount }
    #expect(sum.contains(", about \(tiles) tiles, "), "\(first)")
    _ = try catalog.folder.writePlacedPicture("other.png", edge: 32)
    try FileManager.default.removeItem(atPath: catalog.path("a-1.png"))
    let before = try catalog.contents()
    let second = try tilecut("build", catalog.manifest, "-o", catalog.output, "--dry-run", "--json")
    let report = try #require(try JSONSerialization.jsonObject(with: Data(second.stdout.utf8)) as? [String: Any])
    let regions = try #require(report["regions"] as? [[String: Any]])
    #expect(regions.map { $0["outcome"] as? String } == ["updated", "built"])
    #expect(regions[0]["estimate"] == nil && (regions[1]["estimate"] as? [String: Any])?["tiles"] != nil, "\(second)")
    #expect(try catalog.contents() == before)
    #expect(try catalog.build().status == 0)
    let third = try tilecut("build", catalog.manifest, "-o", catalog.output, "--dry-run")
    #expect(third.stdoutLines == ["a 1: unchanged", "b 1: unchanged", "\(catalog.output): 2 regions, 0 to make"])
    expectRefusal(try tilecut("build", "--plan", "x", "--dry-run"), status: 64, naming: "--plan has manifest")
  }

  /// A file whose metadata contradicts its name gives a warning, unless it may be another region's.
  @Test func unusableOldEditionsAreNamed() throws {
    let catalog = try BuiltCatalog()
    try catalog.write([BuiltCatalog.region("a"), BuiltCatalog.region("a-b")].joined(separator: ","))
    #expect(try catalog.build().status == 0)
    let old = catalog.folder.file("old")
    try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: false)
    for (from, to) in [("a-1", "a-0"), ("a-b-1", "a-b-1"), ("a-b-1", "a-b-0")] {
      try FileManager.default.copyItem(atPath: catalog.path("\(from).mbtiles"), toPath: "\(old)/\(to).mbtiles")
    }
    _ = try catalog.folder.writeBundle("old/a-2.mbtiles", zooms: 0...0)
    let run = try catalog.build("--patches-from", old)
    #expect(run.status == 0, "\(run)")
    let warnings = run.stderrLines.filter { $0.contains("warning: ") }
    #expect(
      Set(warnings) == [
        "tilecut: warning: \(old)/a-0.mbtiles: no patch leads from it: its metadata says that it is edition 1",
        """
        tilecut: warning: \(old)/a-2.mbtiles: no patch leads from it: its metadata does not say which region and \
        edition it is
        """,
        "tilecut: warning: \(old)/a-b-0.mbtiles: no patch leads from it: its metadata says that it is edition 1",
      ], "\(run)")
  }

  /// A patch as large as the bundle is of no use.
  @Test func patchThatIsNotSmallerThanTheBundleIsNotListed() throws {
    let catalog = try BuiltCatalog()
    try catalog.write(BuiltCatalog.region("a"), defaults: #""edition": "1", "sources": ["placed.png"], "zoom": 0"#)
    #expect(try catalog.build().status == 0)
    _ = try catalog.folder.writePicture("placed.png", width: 64, height: 64, colour: 0x123456)
    try catalog.write(BuiltCatalog.region("a"), defaults: #""edition": "2", "sources": ["placed.png"], "zoom": 0"#)
    #expect(try catalog.build("--patches-from", catalog.output).status == 0)
    let catalogue = try catalog.catalogue()
    let region = try #require(catalogue["a"])
    for patch in region.patches { #expect(patch.bytes < region.bytes) }
    #expect(catalog.names.contains { $0.hasSuffix(".patch") } == !region.patches.isEmpty)
  }

  @Test func addedRegionsAreListedAndRemovedOnesDisappear() throws {
    let catalog = try BuiltCatalog()
    try catalog.write([BuiltCatalog.region("a"), BuiltCatalog.region("b")].joined(separator: ","))
    #expect(try catalog.build().status == 0)
    try catalog.folder.write("dist/notes.txt", "mine")
    try catalog.write([BuiltCatalog.region("c"), BuiltCatalog.region("a")].joined(separator: ","))
    let run = try catalog.build("--orphan-owners")
    let ids = try catalog.catalogue().regions.map(\.id)
    #expect(run.status == 0 && ids == ["c", "a"], "\(run)")
    // Sold bundles stay until --prune; files that the builder did not write always stay.
    #expect(catalog.names.contains("b-1.mbtiles") && !catalog.names.contains("b-1.png"))
    #expect(try catalog.build("--prune").stdout.contains("1 old file removed"))
    #expect(!catalog.names.contains("b-1.mbtiles") && catalog.names.contains("notes.txt"))
    try catalog.expectConsistent()
  }

  /// After a failure the catalogue and its files are unchanged, and finished regions are kept for the next build.
  @Test func failedBuildLeavesTheCatalogUnchanged() throws {
    let catalog = try BuiltCatalog()
    try catalog.write(BuiltCatalog.region("a"))
    #expect(try catalog.build().status == 0)
    let before = try catalog.contents()
    try catalog.folder.write("bad.tif", "not a raster")
    try catalog.write(
      [
        BuiltCatalog.region("a", #", "zoom": 3"#), BuiltCatalog.region("b", #", "sources": ["bad.tif"]"#),
        BuiltCatalog.region("c"),
      ]
      .joined(separator: ","))
    let run = try catalog.build()
    expectRefusal(run, status: 65, naming: "1 region of 3", "bad.tif")
    #expect(try catalog.contents() == before)
    try catalog.write(
      [BuiltCatalog.region("a", #", "zoom": 3"#), BuiltCatalog.region("b"), BuiltCatalog.region("c")].joined(
        separator: ","))
    let mended = try catalog.build()
    #expect(mended.stdout.contains("3 regions, 1 made, 2 unchanged"), "\(mended)")
    try catalog.expectConsistent()
  }

  @Test func allMissingFilesAreReportedTogether() throws {
    let catalog = try BuiltCatalog()
    try catalog.write(
      [
        BuiltCatalog.region("a", #", "sources": ["gone.tif", "placed.png"]"#),
        BuiltCatalog.region("b", #", "gazetteers": ["no.tsv"]"#),
      ]
      .joined(separator: ","))
    let run = try catalog.build()
    expectRefusal(
      run, status: 66, naming: "regions[0].sources[0] names \(catalog.folder.file("gone.tif"))",
      "regions[1].gazetteers[0] names")
    #expect(catalog.names.isEmpty)
  }

  @Test func contradictoryOptionsAreWrongUsage() throws {
    let catalog = try BuiltCatalog()
    try catalog.write(BuiltCatalog.region("alps"))
    for options in [["--jobs", "0"], ["--memory", "1MB"], ["--pack-bytes", "5kB"], ["--pack-bytes", "x"]] {
      let run = try Command(built: "tilecut").run(["build", catalog.manifest, "-o", catalog.output] + options)
      expectRefusal(run, status: 64, naming: options[0])
    }
    expectRefusal(try catalog.build("--region", "alp"), status: 64, naming: "\"alp\"", "did you mean \"alps\"?")
    expectRefusal(try catalog.build("--region", "x"), status: 64, naming: "has no region \"x\"; choose one of alps")
    // What they were called before.
    for (theirs, ours) in [("--only", "--region"), ("--max-bytes", "--pack-bytes")] {
      expectRefusal(try catalog.build(theirs, "a"), status: 64, naming: "its name here is \(ours)")
    }
    expectRefusal(try catalog.build("--patches-from", "/nowhere"), status: 66, naming: "/nowhere")
    expectRefusal(try tilecut("build", "/nowhere.json", "-o", catalog.output), status: 66, naming: "/nowhere.json")
    let file = try catalog.folder.write("file", "x")
    expectRefusal(try tilecut("build", catalog.manifest, "-o", file), status: 74, naming: file)
    // All errors of a manifest are reported together.
    try catalog.folder.write("regions.json", #"{"regions": [{"id": "a"}, {"titel": 3}]}"#)
    let run = try catalog.build()
    expectRefusal(
      run, status: 65, naming: "regions[0].title is missing", "regions[1].titel", "regions[1].id is missing")
    #expect(
      run.stderrLines.allSatisfy { $0.hasPrefix("tilecut: \(catalog.manifest): ") && $0.contains("; ") }, "\(run)")
  }
}
