import Foundation
import Support
import Synchronization
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// Cuts that are stopped after some subtrees and continued.
@Suite(.ownThread) struct CheckpointTests {
  let folder: TemporaryFolder
  /// One black and white pixel after the other, with large transparent parts.
  let raster: String

  init() throws {
    folder = try TemporaryFolder()
    let pixels = PixelBuffer(width: 300, height: 300)
    var random = SeededGenerator(seed: 5)
    for y in 0..<300 {
      for x in 0..<300 where (x / 40 + y / 30) % 3 != 0 || x % 41 == 0 {
        pixels.bytes.storeBytes(
          of: 0xff00_0000 | UInt32.random(in: 0...0xffffff, using: &random) & 0xf0f0f0,
          toByteOffset: (y * 300 + x) * 4, as: UInt32.self)
      }
    }
    try folder.write("a.pgw", "0.1\n0\n0\n-0.1\n-14.95\n14.95\n")
    try folder.write("a.prj", "EPSG:4326")
    raster = try folder.write("a.png", bytes: TileEncoder(.png(PNGOptions())).encode(pixels))
  }

  private func options(_ resampling: Resampling = .bilinear) -> CutOptions {
    var options = CutOptions(sources: [raster])
    options.matrixSet = Self.smallTiles
    options.zoom = .levels(1...8)
    options.resampling = resampling
    options.encoding = .png(PNGOptions(effort: .fast))
    return options
  }

  /// WebMercatorQuad with tiles of 32 pixels, which are many, and encoded soon.
  static let smallTiles: TileMatrixSet = {
    let world = TileMatrixSet.webMercatorQuad.boundingBox
    return try! TileMatrixSet(
      identifier: "Small", uri: "https://example.org/small", projection: .webMercator, boundingBox: world,
      matrices: (0...10).map { zoom in
        TileMatrix(
          identifier: "\(zoom)", cellSize: world.width / Double(32 << zoom), metresPerUnit: 1,
          origin: SIMD2(world.west, world.north), tileWidth: 32, tileHeight: 32, matrixWidth: 1 << zoom,
          matrixHeight: 1 << zoom)
      })
  }()

  private static let checkpoints = CutCheckpoints(toolVersion: "test", secondsMin: 0)

  /// Cuts until some calls of `onProgress` have come; nil when the cut was stopped.
  private func cut(
    _ options: CutOptions, to name: String, stoppingAfter count: Int, threads: Int = 2, replacing: Bool = false
  ) throws -> CutSummary? {
    let cancellation = CutCancellation()
    let calls = Mutex(0)
    do {
      return try Cutter(options, resources: CutResources(threads: threads)).cut(
        to: folder.file(name), replacing: replacing, checkpoints: Self.checkpoints, cancellation: cancellation
      ) { _ in
        let number = calls.withLock { calls in
          calls += 1
          return calls
        }
        if number >= count { cancellation.cancel() }
      }
    } catch let error as CutError where error.code == .cancelled {
      return nil
    }
  }

  /// After every single subtree, with every way of reducing: parents in the making are kept with all that they have.
  @Test(arguments: zip([Resampling.bilinear, .nearest, .mode], ["a.mbtiles", "a.mbtiles", "a/"]))
  func cutThatIsStoppedAfterEachSubtreeEndsTheSame(_ resampling: Resampling, _ name: String) throws {
    _ = try Cutter(options(resampling)).cut(to: folder.file("whole-\(name)"))
    let stem = name.filter { $0 != "/" }
    var stops = 0
    while try cut(options(resampling), to: name, stoppingAfter: 1, threads: 1 + stops % 3) == nil {
      stops += 1
      #expect(stops < 100)
      #expect(folder.names.filter { $0.hasPrefix(".") } == [".\(stem).resume"])
    }
    #expect(stops > 5)
    #expect(try contents(name) == contents("whole-\(name)"))
    #expect(!folder.names.contains { $0.hasPrefix(".") })
  }

  /// The form for tasks stops where its task is cancelled, and what it kept is continued.
  @Test func aCancelledTaskStopsTheCut() async throws {
    let cutter = try Cutter(options(), resources: CutResources(threads: 2))
    let path = folder.file("a.mbtiles")
    let task = Locked<Task<CutSummary, any Error>?>(nil)
    let calls = Locked(0)
    let cut = Task {
      try await cutter.cut(to: path, checkpoints: Self.checkpoints) { _ in
        calls.withLock { $0 += 1 }
        // The task is known a moment after it began.
        while task.withLock({ $0 == nil }) { usleep(1000) }
        task.withLock { $0?.cancel() }
      }
    }
    task.withLock { $0 = cut }
    await #expect(throws: CancellationError.self) { try await cut.value }
    #expect(calls.withLock { $0 } < 10 && folder.names.filter { $0.hasPrefix(".") } == [".a.mbtiles.resume"])
    let before = Task { try await cutter.cut(to: path, checkpoints: Self.checkpoints) }
    before.cancel()
    await #expect(throws: CancellationError.self) { try await before.value }
    let summary = try await cutter.cut(to: path, checkpoints: Self.checkpoints)
    _ = try await Cutter(options(), resources: CutResources(threads: 1)).cut(to: folder.file("whole.mbtiles"))
    #expect(summary.tileCount > 0)
    #expect(try contents("a.mbtiles") == contents("whole.mbtiles"))
  }

  /// All files of an output, by their names in it.
  private func contents(_ output: String) throws -> [String: Data] {
    guard output.hasSuffix("/") else { return ["": try folder.bytes(output)] }
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.file(output))
    return Dictionary(
      uniqueKeysWithValues: names.compactMap { name in
        FileManager.default.contents(atPath: folder.file(output + name)).map { (name, $0) }
      })
  }

  @Test func leftoverSaysHowFarTheCutCame() throws {
    #expect(try cut(options(), to: "a.mbtiles", stoppingAfter: 3) == nil)
    let left = try #require(CutCheckpoints.leftover(of: folder.file("a.mbtiles")))
    #expect(left.tilesDone > 0 && left.tilesDone < left.tilesTotal && !left.isInUse)
    #expect(left.folder == folder.file(".a.mbtiles.resume"))
    CutCheckpoints.removeLeftover(of: folder.file("a.mbtiles"))
    #expect(CutCheckpoints.leftover(of: folder.file("a.mbtiles")) == nil)
  }

  /// A kill between the bundle's rename and the removal of the work.
  @Test func cutThatWasPublishedAlreadyIsPublishedAgain() throws {
    #expect(try cut(options(), to: "a.mbtiles", stoppingAfter: 4) == nil)
    try folder.write("a.mbtiles", "the bundle")
    #expect(throws: BundleError.self) { try cut(options(), to: "a.mbtiles", stoppingAfter: 999) }
    try folder.write(".a.mbtiles.resume/publishing", "")
    _ = try #require(try cut(options(), to: "a.mbtiles", stoppingAfter: 999))
    #expect(try folder.bytes("a.mbtiles").starts(with: Data("SQLite format 3".utf8)))
    #expect(CutCheckpoints.leftover(of: folder.file("a.mbtiles")) == nil)
  }

  @Test func cutThatFailsBeforeItsFirstTileLeavesNothing() throws {
    try folder.write("a.mbtiles", "another file")
    #expect(throws: BundleError.self) { try cut(options(), to: "a.mbtiles", stoppingAfter: 999) }
    #expect(!folder.names.contains { $0.hasPrefix(".") })
    // Nor does one that would fail again.
    var empty = CutOptions(sources: [
      try folder.write("b.png", bytes: TileEncoder(.png(PNGOptions())).encode(PixelBuffer(width: 64, height: 64)))
    ])
    empty.bounds = BoundingBox(west: 0, south: 0, east: 1, north: 1)
    let error = #expect(throws: CutError.self) { try cut(empty, to: "b.mbtiles", stoppingAfter: 999) }
    #expect(error?.message.contains("no visible pixel") == true)
    #expect(!folder.names.contains { $0.hasPrefix(".") })
  }

  @Test func workWithoutItsDescriptionIsNamed() throws {
    #expect(try cut(options(), to: "a.mbtiles", stoppingAfter: 4) == nil)
    try folder.write(".a.mbtiles.resume/cut.json", "{\"tool\": ")
    let error = #expect(throws: CutError.self) { try cut(options(), to: "a.mbtiles", stoppingAfter: 999) }
    #expect(error?.message.contains("is not understood") == true)
    #expect(CutCheckpoints.leftover(of: folder.file("a.mbtiles")) != nil)
  }

  /// Every damaged byte of the work is noticed, and nothing is made of it.
  @Test(arguments: ["checkpoint", "tiles.log"]) func damagedWorkIsNamed(_ file: String) throws {
    #expect(try cut(options(), to: "a.mbtiles", stoppingAfter: 4) == nil)
    let name = ".a.mbtiles.resume/\(file)"
    let good = [UInt8](try folder.bytes(name))
    var random = SeededGenerator(seed: 8)
    for round in 0..<15 {
      var bad = good
      if round % 5 == 0 {
        bad.removeLast(Int.random(in: 1...bad.count, using: &random))
      } else {
        bad[Int.random(in: 0..<bad.count, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
      }
      try folder.write(name, bytes: bad)
      let error = #expect(throws: CutError.self, "round \(round)") {
        try cut(options(), to: "a.mbtiles", stoppingAfter: 999)
      }
      #expect(error?.remedy?.contains("--force") == true)
      #expect(!folder.names.contains("a.mbtiles"))
      try folder.write(name, bytes: good)
    }
    _ = try #require(try cut(options(), to: "a.mbtiles", stoppingAfter: 999))
  }
}
