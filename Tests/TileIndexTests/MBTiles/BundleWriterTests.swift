import Foundation
import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct BundleWriterTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func tile(_ zoom: Int, _ column: Int, _ row: Int) -> TileID { TileID(unchecked: zoom, column, row) }

  func writer(_ name: String = "out.mbtiles", replacing: Bool = false, set: TileMatrixSet = .webMercatorQuad) throws
    -> BundleWriter
  { try BundleWriter(path: folder.file(name), matrixSet: set, format: .png, replacing: replacing) }

  @Test func bundlesHaveTheTablesOfMBTiles() throws {
    let writer = try writer()
    try writer.put(tile(11, 327, 791), blob(1))
    try writer.put(tile(11, 328, 791), blob(2))
    let summary = try writer.finish(BundleMetadata(name: "Test", description: "d", attribution: "© a"))
    #expect(summary.tiles == 2 && summary.distinctTiles == 2 && summary.minZoom == 11 && summary.maxZoom == 11)
    #expect(summary.bytes == (try folder.bytes("out.mbtiles").count))
    #expect(folder.names == ["out.mbtiles"])

    let database = try Database(folder.file("out.mbtiles"))
    #expect(try database.run("PRAGMA integrity_check") == [["ok"]])
    #expect(try database.run("PRAGMA application_id") == [["1297105496"]])
    // The row in the specification's example.
    #expect(
      try database.run("SELECT zoom_level, tile_column, tile_row, length(tile_data), typeof(tile_data) FROM tiles") == [
        ["11", "327", "1256", "108", "blob"], ["11", "328", "1256", "108", "blob"],
      ])
    let metadata = try database.run("SELECT name, value FROM metadata")
    #expect(
      metadata.map { $0[0] } == [
        "name", "format", "bounds", "center", "minzoom", "maxzoom", "attribution", "description", "type", "version",
      ])
    #expect(
      metadata.filter { $0[0] != "bounds" && $0[0] != "center" }.map { $0[1] } == [
        "Test", "png", "11", "11", "© a", "d", "baselayer", "1",
      ])
    // The last digit depends on libm.
    let bounds = metadata[2][1].split(separator: ",").compactMap { Double($0) }
    for (found, expected) in zip(bounds, [-122.51953125, 37.718590325588146, -122.16796875, 37.85750715625204]) {
      #expect(abs(found - expected) < 1e-12)
    }
    let center = metadata[3][1].split(separator: ",").compactMap { Double($0) }
    for (found, expected) in zip(center, [-122.34375, 37.78808138412046, 11]) { #expect(abs(found - expected) < 1e-12) }
    #expect(bounds.count == 4 && center.count == 3)
    #expect(throws: Database.Failure.self) {
      try database.run("INSERT INTO map VALUES (11, 327, 1256, 1)")
    }
    #expect(throws: Database.Failure.self) { try database.run("INSERT INTO metadata VALUES ('name', 'again')") }
  }

  @Test func equalTilesAreStoredOnce() throws {
    let writer = try writer()
    for column in 0..<64 {
      for row in 0..<64 { try writer.put(tile(6, column, row), column == 7 && row == 9 ? blob(1) : blob(0)) }
    }
    #expect(writer.tileCount == 4096)
    #expect(writer.distinctTileCount == 2)
    let summary = try writer.finish(BundleMetadata(name: "sea"))
    #expect(summary.tiles == 4096 && summary.distinctTiles == 2)
    let database = try Database(folder.file("out.mbtiles"))
    #expect(try database.run("SELECT count(*), count(DISTINCT tile_data) FROM tiles") == [["4096", "2"]])
    #expect(try database.run("SELECT count(*) FROM images") == [["2"]])
    #expect(try database.run("SELECT tile_column, tile_row FROM map WHERE tile_id = 2") == [["7", "54"]])
  }

  @Test func tilesThatArePutTwiceAreRefusedAtTheEnd() throws {
    let writer = try writer()
    try writer.put(tile(3, 1, 2), blob(1))
    try writer.put(tile(3, 1, 3), blob(1))
    try writer.put(tile(3, 1, 2), blob(2))
    let error = #expect(throws: BundleError.self) { try writer.finish(BundleMetadata(name: "x")) }
    #expect(error?.code == .invalidContent && error?.path == folder.file("out.mbtiles"))
    #expect(error?.message == "tile 3/1/2 was put twice")
    #expect(folder.names == [])
  }

  @Test func invalidTilesAreRefused() throws {
    let writer = try writer()
    for (tile, bytes) in [
      (tile(3, 8, 0), blob(0)), (tile(3, 0, -1), blob(0)), (tile(31, 0, 0), blob(0)), (tile(3, 0, 0), []),
      (tile(3, 0, 0), Array("not an image".utf8)), (tile(3, 0, 0), [0xff, 0xd8, 0xff, 0xe0]),
    ] {
      let error = #expect(throws: BundleError.self) { try writer.put(tile, bytes) }
      #expect(error?.code == .invalidContent)
    }
    try writer.put(tile(3, 0, 0), blob(0))
    #expect(writer.tileCount == 1)
  }

  @Test func discardingLeavesNoFile() throws {
    let writer = try writer()
    try writer.put(tile(0, 0, 0), blob(0))
    #expect(folder.names.count == 1 && folder.names[0].hasPrefix(".out.mbtiles.\(getpid())-"))
    #expect(folder.names[0].hasSuffix(".partial"))
    writer.discard()
    #expect(folder.names.isEmpty)
    writer.discard()
    #expect(throws: BundleError.self) { try writer.put(tile(0, 0, 0), blob(0)) }
    #expect(throws: BundleError.self) { try writer.finish(BundleMetadata(name: "x")) }
    #expect(folder.names.isEmpty)
  }

  @Test func releasingTheWriterLeavesNoFile() throws {
    do {
      let writer = try writer()
      try writer.put(tile(0, 0, 0), blob(0))
    }
    #expect(folder.names.isEmpty)
  }

  @Test func emptyBundlesAreRefused() throws {
    let writer = try writer()
    let error = #expect(throws: BundleError.self) { try writer.finish(BundleMetadata(name: "x")) }
    #expect(error?.code == .invalidContent)
    #expect(error?.message.contains("not one tile") == true)
    #expect(folder.names.isEmpty)
  }

  @Test func existingTargetsAreRefusedWithoutReplacing() throws {
    try Data("precious".utf8).write(to: URL(fileURLWithPath: folder.file("out.mbtiles")))
    let error = #expect(throws: BundleError.self) { try writer() }
    #expect(error?.code == .exists)
    #expect(error?.remedy?.contains("replaced") == true)
    #expect(folder.names == ["out.mbtiles"])
  }

  @Test func targetIsReplacedOnlyByFinish() throws {
    try Data("precious".utf8).write(to: URL(fileURLWithPath: folder.file("out.mbtiles")))
    do {
      let failing = try writer(replacing: true)
      try failing.put(tile(0, 0, 0), blob(0))
      #expect(throws: BundleError.self) { try failing.finish(BundleMetadata(name: "")) }
    }
    #expect(folder.names == ["out.mbtiles"])
    #expect(try folder.bytes("out.mbtiles") == Data("precious".utf8))

    let writer = try writer(replacing: true)
    try writer.put(tile(0, 0, 0), blob(0))
    #expect(try folder.bytes("out.mbtiles") == Data("precious".utf8))
    _ = try writer.finish(BundleMetadata(name: "x"))
    #expect(try folder.bytes("out.mbtiles").starts(with: Data("SQLite format 3".utf8)))
    #expect(folder.names == ["out.mbtiles"])
  }

  @Test func targetCreatedMeanwhileIsNotReplaced() throws {
    let writer = try writer()
    try writer.put(tile(0, 0, 0), blob(0))
    try Data("precious".utf8).write(to: URL(fileURLWithPath: folder.file("out.mbtiles")))
    let error = #expect(throws: BundleError.self) { try writer.finish(BundleMetadata(name: "x")) }
    #expect(error?.code == .exists)
    #expect(folder.names == ["out.mbtiles"])
    #expect(try folder.bytes("out.mbtiles") == Data("precious".utf8))
  }

  @Test func unwritableTargetsAreRefusedImmediately() throws {
    for (path, code) in [
      (folder.path, BundleError.Code.writeFailed), (folder.file("no/such/out.mbtiles"), .writeFailed),
      ("", .invalidName),
      ("/dev/null", .writeFailed), (folder.file("x/"), .invalidName), ("/proc/out.mbtiles", .writeFailed),
    ] {
      let error = #expect(throws: BundleError.self) {
        try BundleWriter(path: path, matrixSet: .webMercatorQuad, format: .png, replacing: true)
      }
      #expect(error?.code == code, "\(path): \(error?.description ?? "")")
    }
  }

  /// SQLite would apply the old file's log to the new bundle.
  @Test(arguments: ["-wal", "-journal"])
  func unmergedChangesBesideTheTargetAreKept(suffix: String) throws {
    try Data("precious".utf8).write(to: URL(fileURLWithPath: folder.file("out.mbtiles")))
    try Data("changes".utf8).write(to: URL(fileURLWithPath: folder.file("out.mbtiles\(suffix)")))
    let error = #expect(throws: BundleError.self) { try writer(replacing: true) }
    #expect(error?.code == .busy)
    #expect(folder.names == ["out.mbtiles", "out.mbtiles\(suffix)"])
  }

  @Test func partialFilesOfDeadProcessesAreRemoved() throws {
    let dead = try Process.run(URL(fileURLWithPath: "/bin/sh"), arguments: ["-c", "exit 0"])
    dead.waitUntilExit()
    let names = [
      ".out.mbtiles.\(dead.processIdentifier)-0.partial",  // of a dead process: removed
      ".out.mbtiles.1-0.partial",  // of a running process: kept
      ".other.mbtiles.\(dead.processIdentifier)-0.partial",  // of another target
      ".out.mbtiles.x-0.partial", ".out.mbtiles.partial",  // not ours
    ]
    for name in names { try Data().write(to: URL(fileURLWithPath: folder.file(name))) }
    let writer = try writer()
    writer.discard()
    #expect(Set(folder.names) == Set(names.dropFirst()))
  }

  @Test func concurrentWritersOfOneTargetAreIndependent() throws {
    let first = try writer(replacing: true)
    let second = try writer(replacing: true)
    try first.put(tile(1, 0, 0), blob(1))
    try second.put(tile(1, 1, 1), blob(2))
    _ = try first.finish(BundleMetadata(name: "first"))
    _ = try second.finish(BundleMetadata(name: "second"))
    #expect(folder.names == ["out.mbtiles"])
    let database = try Database(folder.file("out.mbtiles"))
    #expect(try database.run("SELECT value FROM metadata WHERE name = 'name'") == [["second"]])
  }

  @Test(arguments: [
    "with spaces.mbtiles", "100%.mbtiles", "a?b#c&d=e.mbtiles", "Zürich.mbtiles",
    String(repeating: "n", count: 246) + ".mbtiles",
  ])
  func fileNamesMayContainSpecialCharacters(name: String) throws {
    let writer = try writer(name)
    try writer.put(tile(0, 0, 0), blob(0))
    _ = try writer.finish(BundleMetadata(name: "x"))
    #expect(folder.names == [name])
  }

  @Test func doubleSlashesAreNotParsedAsAHost() throws {
    let path = "//" + folder.path.dropFirst() + "//out.mbtiles"
    let writer = try BundleWriter(path: path, matrixSet: .webMercatorQuad, format: .png)
    try writer.put(tile(0, 0, 0), blob(0))
    _ = try writer.finish(BundleMetadata(name: "x"))
    #expect(folder.names == ["out.mbtiles"])
  }

  /// Four threads and one writer.
  @Test func concurrentPutsAreSerialised() throws {
    let writer = try writer()
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for row in 0..<200 {
        do { try writer.put(TileID(unchecked: 10, thread, row), blob(UInt8(thread), count: row % 50)) } catch {
          Issue.record(error)
        }
      }
    }
    #expect(try writer.finish(BundleMetadata(name: "x")).tiles == 800)
  }

  @Test func equalSequencesGiveEqualFiles() throws {
    var files: [Data] = []
    for name in ["a.mbtiles", "b.mbtiles"] {
      var random = SeededGenerator(seed: 41)
      let writer = try writer(name)
      for tile in TileRange(zoom: 5, columns: 0...31, rows: 0...31) {
        let seed = UInt8.random(in: 0...40, using: &random)
        try writer.put(tile, blob(seed, count: Int.random(in: 0...3000, using: &random)))
      }
      _ = try writer.finish(BundleMetadata(name: "same", extra: ["b": "1", "a": "2", "c": "3"]))
      files.append(try folder.bytes(name))
    }
    #expect(files[0] == files[1])
    #expect(files[0].count > 300_000)
  }

  @Test func bundlesOfOtherGridsAreMarked() throws {
    let writer = try writer(set: .worldCRS84Quad)
    try writer.put(tile(0, 1, 0), blob(0))
    try writer.put(tile(2, 7, 1), blob(1))
    _ = try writer.finish(BundleMetadata(name: "degrees"))
    let database = try Database(folder.file("out.mbtiles"))
    #expect(try database.run("PRAGMA application_id") == [["0"]])
    #expect(try database.run("SELECT name FROM sqlite_master WHERE type = 'view'") == [["grid_tiles"]])
    #expect(
      try database.run("SELECT tile_column, tile_row FROM grid_tiles ORDER BY zoom_level") == [
        ["1", "0"], ["7", "2"],
      ])
    let metadata = try database.run("SELECT name, value FROM metadata")
    #expect(metadata.contains(["tile_matrix_set", TileMatrixSet.worldCRS84Quad.uri]))
    #expect(metadata.contains(["crs", "OGC:CRS84"]))
    #expect(metadata.contains(["bounds", "135,0,180,45"]))
  }

  @Test func fullDiskIsReportedAndLeavesNoFile() throws {
    guard let mount = try run("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder.path]), mount.status == 0 else {
      try Test.cancel("a small tmpfs cannot be mounted here")
    }
    defer { _ = try? run("umount", [folder.path]) }
    let writer = try writer()
    var failure: BundleError?
    for column in 0..<1024 where failure == nil {
      do { try writer.put(tile(10, column, 0), blob(UInt8(column & 255), count: 40_000 + column)) } catch {
        failure = error as? BundleError
      }
    }
    #expect(failure?.code == .writeFailed)
    #expect(failure?.message == "the disk is full")
    #expect(folder.names.isEmpty)
    let again = #expect(throws: BundleError.self) { try writer.finish(BundleMetadata(name: "x")) }
    #expect(again?.message == "the disk is full")
    #expect(folder.names.isEmpty)
  }

  @Test func bundlesOpenInGDAL() throws {
    let path = folder.file("out.mbtiles")
    let writer = try writer()
    // A decodable image, because GDAL decodes one tile to determine the bands.
    let image = Images.grey256
    for tile in TileRange(zoom: 3, columns: 2...3, rows: 2...3) { try writer.put(tile, image) }
    try writer.put(tile(2, 1, 1), image)
    _ = try writer.finish(BundleMetadata(name: "x"))
    guard let gdal = try run("gdalinfo", [path]) else { try Test.cancel("gdalinfo is not installed") }
    #expect(gdal.status == 0)
    #expect(gdal.output.contains("Driver: MBTiles"))
    #expect(gdal.output.contains("EPSG\",3857"))
    #expect(gdal.output.contains("ZOOM_LEVEL=3"))
    #expect(gdal.output.contains("Size is 512, 512"))
    #expect(gdal.output.contains("Upper Left  (-10018754.171"))
  }
}
