import Foundation
import Support
import Synchronization
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import RegionCatalog
@testable import TileCut

/// Cuts with zooms beyond the sources' own: deeper zooms take nothing from those that the sources have.
@Suite("Zooms beyond the sources' own", .ownThread)
struct NativeZoomTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Pixels of 0.1 degrees, whose own zoom is 7 in tiles of 32 pixels, with transparent parts.
  private func raster() throws -> String {
    let pixels = PixelBuffer(width: 120, height: 100)
    var random = SeededGenerator(seed: 9)
    for i in 0..<12_000 where i % 120 / 30 != 2 || i % 7 == 0 {
      pixels.bytes.storeBytes(
        of: 0xff00_0000 | UInt32.random(in: 0...0xffffff, using: &random) & 0xf0f0f0, toByteOffset: i * 4,
        as: UInt32.self)
    }
    try folder.write("a.pgw", "0.1\n0\n0\n-0.1\n-5.95\n4.95\n")
    try folder.write("a.prj", "EPSG:4326")
    return try folder.write("a.png", bytes: TileEncoder(.png(PNGOptions())).encode(pixels))
  }

  private func options(_ source: String, _ zooms: ClosedRange<Int>, _ resampling: Resampling = .bilinear) -> CutOptions
  {
    var options = CutOptions(sources: [source])
    options.matrixSet = CheckpointTests.smallTiles
    options.zoom = .levels(zooms)
    options.resampling = resampling
    options.encoding = .png(PNGOptions(effort: .fast))
    return options
  }

  private func cut(_ options: CutOptions, threads: Int = 2) throws -> [TileID: [UInt8]] {
    try folder.tiles(of: options, threads: threads)
  }

  @Test(
    "Zooms up to the sources' own are those of a cut that ends there, deeper ones those of a cut of each",
    arguments: [Resampling.bilinear, .nearest, .mode, .cubic], [8, 10])
  func zoomsDoNotDependOnDeeperOnes(resampling: Resampling, deepest: Int) throws {
    let source = try raster()
    let plan = try Cutter(options(source, 3...deepest, resampling)).plan
    #expect(plan.baseZoom == 7 && plan.workingZoom == deepest)
    let deep = try cut(options(source, 3...deepest, resampling))
    #expect(deep.filter { $0.key.zoom <= 7 } == (try cut(options(source, 3...7, resampling))))
    for zoom in [8, deepest] {
      #expect(deep.filter { $0.key.zoom == zoom } == (try cut(options(source, zoom...zoom, resampling))))
    }
  }

  @Test("A clipped area is clipped at every zoom that is drawn")
  func clip() throws {
    let source = try raster()
    func clipped(_ zooms: ClosedRange<Int>) -> CutOptions {
      var options = options(source, zooms)
      let ring: [SIMD2<Double>] = [
        SIMD2(-4.3, -3.1), SIMD2(2.2, -2.4), SIMD2(1.1, 3.3), SIMD2(-3.2, 2.9), SIMD2(-4.3, -3.1),
      ]
      options.clip = ClipArea(RegionBoundary(polygons: [[ring]]))
      return options
    }
    let deep = try cut(clipped(4...9))
    #expect(deep.filter { $0.key.zoom <= 7 } == (try cut(clipped(4...7))))
    #expect(deep.filter { $0.key.zoom == 8 } == (try cut(clipped(8...8))))
  }

  @Test("The pixels of a raster that is exactly a zoom are stored as they are, whatever zooms follow")
  func exact() throws {
    let pixels = PixelBuffer(width: 64, height: 64)
    var random = SeededGenerator(seed: 4)
    for i in 0..<64 * 64 {
      pixels.bytes.storeBytes(
        of: 0xff00_0000 | UInt32.random(in: 0...0xffffff, using: &random), toByteOffset: i * 4, as: UInt32.self)
    }
    let cell = CheckpointTests.smallTiles[5].cellSize
    try folder.write("b.pgw", "\(cell)\n0\n0\n\(-cell)\n\(cell / 2)\n\(-cell / 2)\n")
    try folder.write("b.prj", "EPSG:3857")
    let source = try folder.write("b.png", bytes: TileEncoder(.png(PNGOptions())).encode(pixels))
    let tiles = try cut(options(source, 4...8))
    let encoder = TileEncoder(.png(PNGOptions(effort: .fast)))
    for (column, row) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
      let part = PixelBuffer(width: 32, height: 32)
      for y in 0..<32 {
        (part.bytes + y * part.rowBytes).copyMemory(
          from: pixels.bytes + (row * 32 + y) * pixels.rowBytes + column * 128, byteCount: 128)
      }
      #expect(tiles[TileID(unchecked: 5, 16 + column, 16 + row)] == (try encoder.encode(part)))
    }
  }

  /// Zooms above the subtrees are drawn too, by the thread that puts them together.
  @Test("Cuts that go on and cuts in shards have the same bytes")
  func resumedAndDivided() throws {
    var options = options(try raster(), 3...10)
    options.bounds = BoundingBox(west: -3, south: -2, east: 2, north: 2)
    _ = try Cutter(options, resources: CutResources(threads: 1)).cut(to: folder.file("whole.mbtiles"))
    let whole = try folder.bytes("whole.mbtiles")

    var stops = 0
    while true {
      let cancellation = CutCancellation()
      do {
        _ = try Cutter(options, resources: CutResources(threads: 1 + stops % 3)).cut(
          to: folder.file("a.mbtiles"), checkpoints: CutCheckpoints(toolVersion: "test", secondsMin: 0),
          cancellation: cancellation
        ) { _ in cancellation.cancel() }
        break
      } catch let error as CutError where error.code == .cancelled {
        stops += 1
        try #require(stops < 100)
      }
    }
    #expect(stops > 2)
    #expect(try folder.bytes("a.mbtiles") == whole)

    let plan = try ShardPlan(
      Cutter(options), toolVersion: "test", arguments: [], folder: folder.path, tilesMax: 40)
    #expect(plan.shards.count > 1 && plan.shardZoom <= 7)
    let path = try folder.write("plan.json", plan.json)
    for shard in plan.shards.indices { _ = try Cutter(options).cut(shard: shard, of: plan, path: path) }
    _ = try Cutter(options).merge(plan, path: path, to: folder.file("merged.mbtiles"))
    #expect(try folder.bytes("merged.mbtiles") == whole)
  }
}
