import Foundation
import OfflineMap
import Support
import Synchronization
import TestSupport
import Testing
import TileIndex

/// A file that another program changes while a map shows it: each tile is the one of the edition that was opened, or an
/// error; never zeros, and never bytes of another edition.
@Suite(.ownThread) struct ChangedBundleTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  static let containers = ["map.mbtiles", "map.pmtiles", "map.gpkg", "map.tileset"]

  /// Tiles with bytes of their own and of their edition.
  private func write(_ name: String, edition: Int) throws -> [TileID: [UInt8]] {
    var tiles: [TileID: [UInt8]] = [:]
    let grid = TileMatrixSet.webMercatorQuad
    let writer = try BundleWriter(path: folder.file("made.mbtiles"), matrixSet: grid, format: .png, replacing: true)
    for zoom in 0...4 {
      for tile in grid.wholeRange(zoom: zoom) {
        let image = try SampleTiles.image(edition * 1000 + tiles.count, .png, edge: 64, hollow: false)
        try writer.put(tile, image)
        tiles[tile] = image
      }
    }
    _ = try writer.finish(BundleMetadata(name: "map"))
    if name == "made.mbtiles" { return tiles }
    try? FileManager.default.removeItem(atPath: folder.file(name))
    if name.hasSuffix(".tileset") {
      try writeShards(name, tiles)
      return tiles
    }
    try BundleConvert().write(BundleFile.open(folder.file("made.mbtiles")), to: folder.file(name))
    return tiles
  }

  /// One shard of each container for each tile of zoom 1, beside the tileset.
  private func writeShards(_ name: String, _ tiles: [TileID: [UInt8]]) throws {
    let (grid, metadata) = (TileMatrixSet.webMercatorQuad, BundleMetadata(name: "map"))
    let tileset = try ShardedWriter(
      path: folder.file(name), top: folder.file("\(name).top.mbtiles"), shardZoom: 1, matrixSet: grid, format: .png)
    for (root, container) in zip(grid.wholeRange(zoom: 1), ["mbtiles", "pmtiles", "gpkg", "mbtiles"]) {
      let path = folder.file("\(name).\(root.column)-\(root.row).\(container)")
      let shard = try BundleFile.create(path, matrixSet: grid, format: .png, replacing: true)
      let below = tiles.filter { $0.key.zoom >= 1 && grid.ancestor(of: $0.key, zoom: 1) == root }
      for (tile, bytes) in below { try shard.put(tile, bytes) }
      _ = try shard.finish(metadata)
      try tileset.add(BundleFile.open(path), root: root, tiles: below.count)
    }
    let top = TileID(unchecked: 0, 0, 0)
    try tileset.put(top, try #require(tiles[top]))
    _ = try tileset.finish(metadata)
  }

  /// The files with tiles: a tileset's are its shards.
  private func files(of name: String) -> [String] {
    name.hasSuffix(".tileset") ? folder.names.filter { $0.hasPrefix("\(name).") }.sorted() : [name]
  }

  private func change(_ name: String, _ body: (FileHandle) throws -> Void) throws {
    let file = try #require(FileHandle(forUpdatingAtPath: folder.file(name)))
    defer { try? file.close() }
    try body(file)
  }

  /// Reads every tile of a bundle, and shows a screen of them.
  ///
  /// - Returns: the number of errors of both.
  private func errorsOfReading(_ bundle: MapBundle, _ edition: [TileID: [UInt8]], _ comment: String) async throws
    -> (bundle: Int, screen: Int)
  {
    var errors = 0
    for (tile, bytes) in edition {
      do {
        let found = try await bundle.tile(tile)
        #expect(found == bytes, "\(comment): \(tile) has \(found?.count ?? -1) bytes, not \(bytes.count)")
      } catch is BundleError {
        errors += 1
      }
    }
    let session = try MapSession(bundle: bundle, budget: 4 << 20)
    let ready = session.readyTiles()
    session.update(Viewport(longitude: 0, latitude: 0, zoom: 2, size: (256, 256)), phase: .rest)
    let run = Task { await session.run() }
    var (count, failures) = (0, 0)
    for await result in ready {
      count += 1
      switch result {
      case .success(let tile): #expect(tile.picture == edition[tile.tileID], "\(comment): \(tile.tileID)")
      case .failure(let failure):
        failures += 1
        #expect(failure.reason is BundleError)
      }
      if count == 16 { break }
    }
    run.cancel()
    await run.value
    return (errors, failures)
  }

  /// Half of it is gone.
  @Test(arguments: containers) func aFileThatWasCutOff(_ name: String) async throws {
    let edition = try write(name, edition: 1)
    let bundle = try MapBundle(path: folder.file(name))
    #expect(try await errorsOfReading(bundle, edition, "before") == (0, 0))
    for name in files(of: name) {
      try change(name) { file in
        let end = try file.seekToEnd()
        try file.truncate(atOffset: end / 2)
      }
    }
    let errors = try await errorsOfReading(bundle, edition, "after")
    #expect(errors.bundle == edition.count && errors.screen == 16)
  }

  /// Another edition was copied over it, by a program that keeps the file.
  @Test(arguments: containers) func aFileThatWasOverwritten(_ name: String) async throws {
    let edition = try write(name, edition: 1)
    let bundle = try MapBundle(path: folder.file(name))
    #expect(try await errorsOfReading(bundle, edition, "before") == (0, 0))
    let other = "other." + name.split(separator: ".")[1]
    let next = try write(other, edition: 2)
    for (name, other) in zip(files(of: name), files(of: other)) {
      let bytes = try folder.bytes(other)
      try change(name) { file in
        try file.write(contentsOf: bytes)
        try file.truncate(atOffset: UInt64(bytes.count))
      }
    }
    let errors = try await errorsOfReading(bundle, edition, "after")
    #expect(errors.bundle == edition.count && errors.screen == 16)
    // Opened again, it is the new edition, once the file has been still for a while.
    var again: MapBundle?
    #expect(
      try eventually {
        do { again = try MapBundle(path: folder.file(name)) } catch let error as BundleError where error.code == .busy {
        }
        return again != nil
      })
    #expect(try await errorsOfReading(try #require(again), next, "again") == (0, 0))
  }

  /// A folder's tiles are files of their own: a map that is open has those of the new edition from then on, each whole.
  @Test func aFolderThatWasOverwritten() async throws {
    let edition = try write("map/", edition: 1)
    let bundle = try MapBundle(path: folder.file("map"))
    #expect(try await errorsOfReading(bundle, edition, "before") == (0, 0))
    let next = try write("other/", edition: 2)
    func files(_ name: String) throws -> [String] {
      try FileManager.default.subpathsOfDirectory(atPath: folder.file(name)).filter { $0.hasSuffix(".png") }
    }
    #expect(try files("map").count == next.count)
    for file in try files("map") {
      let bytes = try folder.bytes("other/\(file)")
      try change("map/\(file)") { file in
        try file.write(contentsOf: bytes)
        try file.truncate(atOffset: UInt64(bytes.count))
      }
    }
    #expect(try await errorsOfReading(bundle, next, "after") == (0, 0))
  }

  /// Another program takes locks and gives them back, and changes nothing: its readers are opened in two ways, with
  /// locks and without, and a map whose readers differed would call that a change.
  @Test func locksThatComeAndGoAreNoChange() async throws {
    let edition = try write("made.mbtiles", edition: 1)
    let first = try TileID(zoom: 0, column: 0, row: 0)
    let path = folder.file("made.mbtiles")
    let isDone = Mutex(false)
    Thread.detachNewThread {
      guard let connection = try? SQLiteConnection(creating: path) else { return }
      while !isDone.withLock({ $0 }) {
        try? connection.execute("BEGIN EXCLUSIVE; ROLLBACK")
        usleep(200)
      }
    }
    defer { isDone.withLock { $0 = true } }
    var opened = 0
    for _ in 0..<200 {
      do {
        let bundle = try MapBundle(path: path)
        let bytes = try await bundle.tile(first)
        #expect(bytes == edition[first])
        opened += 1
      } catch let error as BundleError where error.code == .busy {
      }
    }
    #expect(opened > 0)
  }

  /// A change by SQLite, which keeps readers apart from writers: what the map has shown and what it shows next would be
  /// of two editions.
  @Test(arguments: [false, true]) func tilesThatSQLiteChanged(usesWAL: Bool) async throws {
    let edition = try write("made.mbtiles", edition: 1)
    if usesWAL { try SQLiteConnection(creating: folder.file("made.mbtiles")).execute("PRAGMA journal_mode = WAL") }
    let bundle = try MapBundle(path: folder.file("made.mbtiles"))
    #expect(try await errorsOfReading(bundle, edition, "before") == (0, 0))
    let connection = try SQLiteConnection(creating: folder.file("made.mbtiles"))
    let table = try connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%tile_data%'")
      .first { $0.text(0) }
    try connection.execute("UPDATE \(try #require(table)) SET tile_data = zeroblob(length(tile_data))")
    let errors = try await errorsOfReading(bundle, edition, "after")
    // A log beside the file changes nothing in it before a checkpoint.
    #expect(usesWAL || errors.bundle == edition.count && errors.screen == 16)
    if usesWAL { try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
    _ = try await errorsOfReading(bundle, edition, "after a checkpoint")
  }
}
