import Foundation
import Gazetteer
import RegionCatalog
import TestSupport
import Testing
import TileCut
import TileImage

@testable import TileIndex

/// `tilecut build` from one state of the manifest to the next.
@Suite(.ownThread) struct BuildTests {
  @Test func shelfHasWhatTheCatalogueSays() throws {
    let shelf = try Shelf()
    try shelf.writeVariety()
    let run = try shelf.build("--json")
    #expect(run.status == 0, "\(run)")
    #expect(run.stderrLines.count == 4 && run.stderr.contains("] levels 1: built, "), "\(run)")
    let catalogue = try shelf.catalogue()
    #expect(catalogue.regions.map(\.id) == ["whole", "degrees", "levels", "jpeg"])
    try shelf.expectConsistent()
    #expect(shelf.names == (catalogue.regions.flatMap(\.files).map(\.file) + ["catalogue.json"]).sorted())
    for region in catalogue.regions {
      try expectValid(shelf.path(region.file))
      let reader = try MBTilesReader(path: shelf.path(region.file))
      #expect(reader.matrixSet == region.matrixSet && reader.metadata["region"] == region.id)
      #expect(try reader.tileCount() == region.tileCount && reader.zooms() == Array(region.minzoom...region.maxzoom))
      #expect(try TilesHash.of(reader).description == region.tilesHash)
      #expect(reader.metadata.bounds == region.boundingBox && reader.metadata.format == region.format)
      #expect(region.preview?.file == "\(region.id)-1.png")
    }
    let whole = try MBTilesReader(path: shelf.path("whole-1.mbtiles"))
    #expect(try PlaceIndex(whole)?.places().map(\.name) == ["Here"])
  }

  /// Parcels are under the limit, and together they are the whole: also merged by the tool.
  @Test func parcelsMergeToTheWhole() throws {
    let shelf = try Shelf()
    try shelf.writeVariety()
    #expect(try shelf.build("--jobs", "2").status == 0)
    for (id, limit) in [("degrees", 400_000), ("levels", 400_000)] {
      let catalogue = try shelf.catalogue()
      let region = try #require(catalogue[id])
      #expect(region.parcels.count > 2 && region.parcels[0].isOverview, "\(region.parcels.count)")
      let whole = try MBTilesReader(path: shelf.path(region.file))
      let index = ParcelIndex(region)
      var count = 0
      for (number, parcel) in region.parcels.enumerated() {
        #expect(parcel.bytes <= limit)
        try expectValid(shelf.path(parcel.file))
        let reader = try MBTilesReader(path: shelf.path(parcel.file))
        #expect(try reader.tileCount() == parcel.tileCount)
        #expect(try reader.zooms().first == parcel.zooms.lowerBound && reader.zooms().last == parcel.zooms.upperBound)
        try reader.forEachTile { tile, bytes in
          #expect(index.parcel(of: tile) == number, "\(tile)")
          let stored = try whole.tile(tile)
          #expect(stored == Array(bytes), "\(tile)")
          count += 1
        }
      }
      #expect(count == region.tileCount)
      let merged = shelf.folder.file("\(id).mbtiles")
      let run = try Command(built: "tilecut").run(
        ["merge"] + region.parcels.map { shelf.path($0.file) } + ["-o", merged])
      #expect(run.status == 0, "\(run)")
      let reader = try MBTilesReader(path: merged)
      #expect(try TilesHash.of(reader).description == region.tilesHash)
      // It says of itself what the whole does, and no more that it is a parcel.
      #expect(reader.metadata["parcel"] == nil && reader.metadata["region"] == id)
      #expect(reader.metadata.bounds == region.boundingBox && reader.metadata.name == whole.metadata.name)
    }
  }

  @Test func nothingIsMadeTwice() throws {
    let shelf = try Shelf()
    try shelf.writeVariety()
    #expect(try shelf.build().status == 0)
    let before = try shelf.contents()
    let stamps = try shelf.names.map {
      try FileManager.default.attributesOfItem(atPath: shelf.path($0)) as NSDictionary
    }
    let again = try shelf.build()
    #expect(again.status == 0 && again.stdout.contains("4 regions, 0 made, 4 unchanged"), "\(again)")
    #expect(try shelf.contents() == before)
    #expect(
      try shelf.names.map { try FileManager.default.attributesOfItem(atPath: shelf.path($0)) as NSDictionary } == stamps
    )

    // A copy of the folder has other inodes and times, and the same content.
    let copy = shelf.folder.file("copy")
    try FileManager.default.copyItem(atPath: shelf.output, toPath: copy)
    let copied = try tilecut("build", shelf.manifest, "-o", copy)
    #expect(copied.stdout.contains("0 made"), "\(copied)")

    // What only the catalogue says costs no cut.
    try shelf.writeVariety(last: #", "priceTier": "low""#)
    let priced = try shelf.build()
    let tier = try shelf.catalogue()["jpeg"]?.priceTier
    #expect(priced.stdout.contains("0 made") && tier == "low", "\(priced)")

    // Of a region with other parcels only those are made.
    try shelf.writeVariety(last: #", "priceTier": "low""#, parcels: 600_000)
    let split = try shelf.build()
    #expect(split.stdout.contains("4 regions, 1 made") && split.stderr.contains("degrees 1: updated"), "\(split)")
    #expect(try shelf.contents()["degrees-1.mbtiles"] == before["degrees-1.mbtiles"])
    try shelf.expectConsistent()
    #expect(shelf.names == (try shelf.catalogue().regions.flatMap(\.files).map(\.file) + ["catalogue.json"]).sorted())
  }

  @Test func changedInputsAreNoticed() throws {
    let shelf = try Shelf()
    try shelf.writeVariety()
    #expect(try shelf.build().status == 0)
    // A source of one region; a source's side file; a gazetteer.
    _ = try shelf.folder.writePlacedPicture("other.png", edge: 32)
    let first = try shelf.build()
    #expect(first.stderr.contains("degrees 1: built") && first.stdout.contains("1 made"), "\(first)")
    try shelf.folder.write("placed.wld", "1\n0\n0\n-1\n10\n50\n")
    let second = try shelf.build()
    #expect(second.stdout.contains("3 made") && second.stderr.contains("degrees 1: unchanged"), "\(second)")
    let places = try String(contentsOfFile: shelf.folder.file("places.geojson"), encoding: .utf8)
    try shelf.folder.write("places.geojson", places.replacingOccurrences(of: "Here", with: "There"))
    let third = try shelf.build()
    #expect(third.stderr.contains("whole 1: built") && third.stdout.contains("1 made"), "\(third)")
    // Damage on the shelf itself.
    try Data("x".utf8).write(to: URL(fileURLWithPath: shelf.path("jpeg-1.mbtiles")))
    let fourth = try shelf.build()
    #expect(fourth.stderr.contains("jpeg 1: built") && fourth.stdout.contains("1 made"), "\(fourth)")
    try FileManager.default.removeItem(atPath: shelf.path("whole-1.png"))
    let fifth = try shelf.build()
    #expect(fifth.stderr.contains("whole 1: updated") && fifth.stdout.contains("1 made"), "\(fifth)")
    try shelf.expectConsistent()
    #expect(try shelf.build("--rebuild").stdout.contains("4 made"))
  }

  /// The command's own version is fixed, so the library is asked.
  @Test func anotherVersionOfTheToolMakesAllAnew() throws {
    let shelf = try Shelf()
    try shelf.write([Shelf.region("a"), Shelf.region("b")].joined(separator: ","))
    func outcomes(_ version: String) throws -> [RegionReport.Outcome] {
      let manifest = try RegionManifest(path: shelf.manifest)
      let options = ShelfOptions(manifest: manifest, output: shelf.output, toolVersion: version)
      return try ShelfBuilder(options).build().regions.map(\.outcome)
    }
    #expect(try outcomes("1") == [.built, .built])
    #expect(try outcomes("1") == [.unchanged, .unchanged])
    #expect(try outcomes("2") == [.built, .built])
  }

  @Test func oneBuildAtATimeInAFolder() throws {
    let shelf = try Shelf()
    try shelf.write(Shelf.region("a"))
    #expect(try shelf.build().status == 0)
    var lock = try FolderLock("\(shelf.output)/.tilecut/lock")
    #expect(lock != nil)
    let run = try shelf.build()
    #expect(run.status == 75 && run.stderr.contains("another tilecut build is at work in it"), "\(run)")
    lock = nil
    #expect(try shelf.build().status == 0)
  }

  /// A catalogue that cannot be read may be somebody else's; the message says how to go on.
  @Test func damagedCatalogueIsNotOverwritten() throws {
    let shelf = try Shelf()
    try shelf.write(Shelf.region("a"))
    #expect(try shelf.build().status == 0)
    let whole = try shelf.contents()
    for text in ["{", #"{"version":2,"regions":[]}"#] {
      try shelf.folder.write("dist/catalogue.json", text)
      expectRefusal(try shelf.build(), status: 65, naming: shelf.path("catalogue.json"), "remove it")
      #expect(try String(contentsOfFile: shelf.path("catalogue.json"), encoding: .utf8) == text)
    }
    try FileManager.default.removeItem(atPath: shelf.path("catalogue.json"))
    let mended = try shelf.build()
    #expect(mended.stdout.contains("1 region, 0 made"), "\(mended)")
    #expect(try shelf.contents() == whole)
  }

  /// What took long is not made again because of what came after it.
  @Test func bundleIsKeptWhenItsParcelsCannotBeMade() throws {
    let shelf = try Shelf()
    let noise =
      #", "sources": ["noise.png"], "grid": {"id": "L", "tileEdges": [24, 8, 2], "tileSizes": [384]}, "zooms": [0, 2]"#
    try shelf.write([Shelf.region("a"), Shelf.region("n", noise)].joined(separator: ","))
    let run = try shelf.build("--max-bytes", "256kB")
    expectRefusal(run, status: 64, naming: "1 region of 2")
    let line = try #require(run.stderrLines.first { $0.contains("] n: failed: ") })
    #expect(line.contains("alone does not fit into a parcel of 256000 bytes; allow parcels of at least"), "\(run)")
    #expect(shelf.names.isEmpty)
    // The remedy holds.
    let wanted = try #require(line.split(separator: " ").dropLast().last.flatMap { Int($0) }, "\(run)")
    let mended = try shelf.build("--max-bytes", "\(wanted)")
    #expect(mended.status == 0 && mended.stderr.contains("n 1: updated"), "\(mended)")
    try shelf.expectConsistent()
  }

  /// Bounds, and a boundary that is cut in two: the shelf knows on which side of the world they lie.
  @Test func regionsAcrossTheAntimeridian() throws {
    let shelf = try Shelf()
    _ = try shelf.folder.writePicture("world.png", width: 256, height: 128)
    try shelf.folder.write("world.pgw", "1.40625\n0\n0\n-1.40625\n-179.296875\n89.296875\n")
    try shelf.folder.write("world.prj", "EPSG:4326")
    let boundary =
      #"{"type": "MultiPolygon", "coordinates": [[[[170, -5], [180, -25], [180, -5], [170, -5]]], [[[-180, -25], [-170, -5], [-180, -5], [-180, -25]]]]}"#
    try shelf.write(
      [
        Shelf.region("a", #", "bounds": [170, -25, -170, -5]"#),
        Shelf.region("b", #", "bounds": [170, -25, -170, -5], "grid": "WorldCRS84Quad", "parcelBytes": 256000"#),
        Shelf.region("c", #", "boundary": \#(boundary)"#),
      ].joined(separator: ","),
      defaults: #""edition": "1", "sources": ["world.png"], "zooms": [0, 5], "preview": {"width": 64}"#)
    let run = try shelf.build()
    #expect(run.status == 0, "\(run)")
    try shelf.expectConsistent()
    for region in try shelf.catalogue().regions {
      #expect(region.bounds == [170, -25, -170, -5], "\(region.id)")
      try expectValid(shelf.path(region.file))
      let preview = try shelf.folder.bytes("dist/\(region.id)-1.png").withUnsafeBytes { try ImageDecoder.decode($0) }
      #expect(preview.width == 64 && (60...70).contains(preview.height), "\(region.id) \(preview.height)")
    }
    func found(_ place: String) throws -> [String] {
      try tilecut("parcels", shelf.output, "--point=\(place)").stdoutLines.dropLast().map { String($0.prefix(1)) }
    }
    #expect(try found("179,-15") == ["a", "b", "c"] && found("-179,-15") == ["a", "b", "c"])
    #expect(try found("0,-15").isEmpty)
  }

  /// The same inputs give the same bytes, wherever, on however many threads, in whatever order.
  @Test func buildsAreReproducible() throws {
    let (one, two) = (try Shelf(), try Shelf())
    try one.writeVariety()
    try two.writeVariety()
    #expect(try one.build("--jobs", "1").status == 0)
    #expect(try two.build("--jobs", "4", "--memory", "128MB", "--only", "jpeg", "levels").status == 0)
    #expect(try two.catalogue().regions.map(\.id) == ["levels", "jpeg"])
    #expect(try two.build("--jobs", "3").status == 0)
    #expect(try one.contents() == two.contents())
  }

  @Test func editionsLeavePatches() throws {
    let shelf = try Shelf()
    try shelf.writeVariety()
    #expect(try shelf.build().status == 0)
    let first = try shelf.catalogue()
    _ = try shelf.folder.writePlacedPicture("other.png", edge: 47)
    try shelf.writeVariety(edition: "2026-2")
    let run = try shelf.build("--patches-from", shelf.output)
    #expect(run.status == 0, "\(run)")
    try shelf.expectConsistent()
    let second = try shelf.catalogue()
    for region in second.regions {
      let old = try #require(first[region.id])
      let patch = try #require(region.patches.first, "\(region.id): \(run)")
      #expect(patch.fromEdition == "1" && patch.fromTilesHash == old.tilesHash && patch.bytes < region.bytes)
      // The bundle of the earlier edition is still there, and the patch makes the new one of it.
      let output = shelf.folder.file("applied.mbtiles")
      let applied = try tilecut("apply", shelf.path(patch.file), shelf.path(old.file), "-o", output, "--force")
      #expect(applied.status == 0, "\(applied)")
      #expect(try FileHash.sha256(ofFile: output) == region.sha256, "\(region.id)")
    }
    // Parcels and previews of the earlier edition are gone.
    let listed = second.regions.flatMap(\.files).map(\.file)
    #expect(Set(shelf.names) == Set(listed + ["catalogue.json"] + first.regions.map(\.file)))
    #expect(try shelf.build("--patches-from", shelf.output).stdout.contains("0 made"))
    let pruned = try shelf.build("--prune")
    #expect(
      pruned.status == 0 && Set(shelf.names) == Set(listed + ["catalogue.json"]).filter { !$0.hasSuffix(".patch") })
  }

  /// A file that is not what its name says is told of, unless it may be another region's.
  @Test func editionsThatAreNoneAreNamed() throws {
    let shelf = try Shelf()
    try shelf.write([Shelf.region("a"), Shelf.region("a-b")].joined(separator: ","))
    #expect(try shelf.build().status == 0)
    let old = shelf.folder.file("old")
    try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: false)
    for (from, to) in [("a-1", "a-0"), ("a-b-1", "a-b-1"), ("a-b-1", "a-b-0")] {
      try FileManager.default.copyItem(atPath: shelf.path("\(from).mbtiles"), toPath: "\(old)/\(to).mbtiles")
    }
    _ = try shelf.folder.writeBundle("old/a-2.mbtiles", zooms: 0...0)
    let run = try shelf.build("--patches-from", old)
    #expect(run.status == 0, "\(run)")
    let warnings = run.stderrLines.filter { $0.contains("warning: ") }
    #expect(
      Set(warnings) == [
        "tilecut: warning: \(old)/a-0.mbtiles: no patch leads from it: its metadata says that it is edition 1",
        "tilecut: warning: \(old)/a-2.mbtiles: no patch leads from it: its metadata does not say which region and edition it is",
        "tilecut: warning: \(old)/a-b-0.mbtiles: no patch leads from it: its metadata says that it is edition 1",
      ], "\(run)")
  }

  /// A patch as large as the bundle helps nobody.
  @Test func patchesThatAreNotSmallerAreNotListed() throws {
    let shelf = try Shelf()
    try shelf.write(Shelf.region("a"), defaults: #""edition": "1", "sources": ["placed.png"], "zooms": 0"#)
    #expect(try shelf.build().status == 0)
    _ = try shelf.folder.writePicture("placed.png", width: 64, height: 64, colour: 0x123456)
    try shelf.write(Shelf.region("a"), defaults: #""edition": "2", "sources": ["placed.png"], "zooms": 0"#)
    #expect(try shelf.build("--patches-from", shelf.output).status == 0)
    let catalogue = try shelf.catalogue()
    let region = try #require(catalogue["a"])
    for patch in region.patches { #expect(patch.bytes < region.bytes) }
    #expect(shelf.names.contains { $0.hasSuffix(".patch") } == !region.patches.isEmpty)
  }

  @Test func regionsComeAndGo() throws {
    let shelf = try Shelf()
    try shelf.write([Shelf.region("a"), Shelf.region("b")].joined(separator: ","))
    #expect(try shelf.build().status == 0)
    try shelf.folder.write("dist/notes.txt", "mine")
    try shelf.write([Shelf.region("c"), Shelf.region("a")].joined(separator: ","))
    let run = try shelf.build()
    let ids = try shelf.catalogue().regions.map(\.id)
    #expect(run.status == 0 && ids == ["c", "a"], "\(run)")
    // What was sold stays; what is somebody else's stays in any case.
    #expect(shelf.names.contains("b-1.mbtiles") && !shelf.names.contains("b-1.png"))
    #expect(try shelf.build("--prune").stdout.contains("1 old file removed"))
    #expect(!shelf.names.contains("b-1.mbtiles") && shelf.names.contains("notes.txt"))
    try shelf.expectConsistent()
  }

  /// A failure keeps the shelf as it was, and what was made for the next time.
  @Test func failureLeavesTheShelfAsItWas() throws {
    let shelf = try Shelf()
    try shelf.write(Shelf.region("a"))
    #expect(try shelf.build().status == 0)
    let before = try shelf.contents()
    try shelf.folder.write("bad.tif", "not a raster")
    try shelf.write(
      [Shelf.region("a", #", "zooms": 3"#), Shelf.region("b", #", "sources": ["bad.tif"]"#), Shelf.region("c")]
        .joined(separator: ","))
    let run = try shelf.build()
    expectRefusal(run, status: 65, naming: "1 region of 3", "bad.tif")
    #expect(try shelf.contents() == before)
    try shelf.write(
      [Shelf.region("a", #", "zooms": 3"#), Shelf.region("b"), Shelf.region("c")].joined(separator: ","))
    let mended = try shelf.build()
    #expect(mended.stdout.contains("3 regions, 1 made, 2 unchanged"), "\(mended)")
    try shelf.expectConsistent()
  }

  @Test func everyMissingFileIsNamed() throws {
    let shelf = try Shelf()
    try shelf.write(
      [
        Shelf.region("a", #", "sources": ["gone.tif", "placed.png"]"#),
        Shelf.region("b", #", "gazetteers": ["no.tsv"]"#),
      ]
      .joined(separator: ","))
    let run = try shelf.build()
    expectRefusal(
      run, status: 66, naming: "regions[0].sources[0] names \(shelf.folder.file("gone.tif"))",
      "regions[1].gazetteers[0] names")
    #expect(shelf.names.isEmpty)
  }

  @Test func optionsThatMakeNoSense() throws {
    let shelf = try Shelf()
    try shelf.write(Shelf.region("alps"))
    for options in [["--jobs", "0"], ["--memory", "1MB"], ["--max-bytes", "5kB"], ["--max-bytes", "x"]] {
      let run = try Command(built: "tilecut").run(["build", shelf.manifest, "-o", shelf.output] + options)
      expectRefusal(run, status: 64, naming: options[0])
    }
    expectRefusal(try shelf.build("--only", "alp"), status: 64, naming: "\"alp\"", "did you mean \"alps\"?")
    expectRefusal(try shelf.build("--patches-from", "/nowhere"), status: 66, naming: "/nowhere")
    expectRefusal(try tilecut("build", "/nowhere.json", "-o", shelf.output), status: 66, naming: "/nowhere.json")
    let file = try shelf.folder.write("file", "x")
    expectRefusal(try tilecut("build", shelf.manifest, "-o", file), status: 74, naming: file)
    // Nothing a few lines could say, the manifest says all at once.
    try shelf.folder.write("regions.json", #"{"regions": [{"id": "a"}, {"titel": 3}]}"#)
    let run = try shelf.build()
    expectRefusal(
      run, status: 65, naming: "regions[0].title is missing", "regions[1].titel", "regions[1].id is missing")
    #expect(run.stderrLines.allSatisfy { $0.hasPrefix("tilecut: \(shelf.manifest): ") && $0.contains("; ") }, "\(run)")
  }
}
