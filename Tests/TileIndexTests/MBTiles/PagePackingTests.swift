import Foundation
import TestSupport
import Testing

@testable import TileIndex

@Suite(.ownThread) struct PagePackingTests {
  /// Sizes of tiles as cuts have them: flat cartography, relief, imagery, and some that are hard to pack.
  enum Sizes: String, CaseIterable {
    case cartography, relief, imagery, equalHalves, large

    func make(_ random: inout SeededGenerator) -> Int {
      let unit = Double.random(in: 0..<1, using: &random)
      return switch self {
      case .cartography: 300 + Int(30_000 * unit * unit * unit)
      case .relief: 2000 + Int(60_000 * unit)
      case .imagery: 30_000 + Int(40_000 * unit)
      case .equalHalves: 9000
      case .large: 200_000 + Int(300_000 * unit)
      }
    }
  }

  private func write(_ blobs: [Int], to path: String) throws -> BundleSummary {
    let writer = try BundleWriter(path: path, matrixSet: .webMercatorQuad, format: .png)
    for (index, count) in blobs.enumerated() {
      var bytes = blob(1, count: 0) + [UInt8](repeating: 7, count: count)
      withUnsafeBytes(of: UInt32(index)) { bytes.replaceSubrange((bytes.count - 4)..., with: $0) }
      try writer.put(TileID(zoom: 12, column: index % 64, row: index / 64), bytes)
    }
    return try writer.finish(BundleMetadata(name: "x"))
  }

  @Test(arguments: Sizes.allCases) func filesExceedTheirTilesByAtMostFourPerCent(sizes: Sizes) throws {
    let folder = try TemporaryFolder()
    var random = SeededGenerator(seed: 7)
    let blobs = (0..<(sizes == .large ? 60 : 1000)).map { _ in sizes.make(&random) }
    let summary = try write(blobs, to: folder.file("a.mbtiles"))
    let reader = try MBTilesReader(path: folder.file("a.mbtiles"))
    let tiles = try reader.sizedTiles().reduce(0) { $0 + $1.bytes }
    #expect(Double(summary.bytes) <= 1.04 * Double(tiles), "\(sizes): \(summary.bytes) for \(tiles)")
    #expect(try Database(folder.file("a.mbtiles")).run("PRAGMA integrity_check") == [["ok"]])
    for index in blobs.indices {
      let tile = try TileID(zoom: 12, column: index % 64, row: index / 64)
      let found = try #require(try reader.tile(tile))
      #expect(found.suffix(4).elementsEqual(withUnsafeBytes(of: UInt32(index)) { Array($0) }))
    }
  }

  /// Reading a tile of a large page takes fewer reads.
  @Test(arguments: [(Sizes.imagery, 1000, 16384), (.cartography, 2000, 16384), (.imagery, 3, 4096)])
  func pagesAreAsLargeAsTheTilesAllow(sizes: Sizes, count: Int, pageBytes: Int) throws {
    let folder = try TemporaryFolder()
    var random = SeededGenerator(seed: 8)
    _ = try write((0..<count).map { _ in sizes.make(&random) }, to: folder.file("a.mbtiles"))
    #expect(try MBTilesReader(path: folder.file("a.mbtiles")).pragma("page_size") == pageBytes)
  }

  /// The order is one of all blobs, and SQLite fills as many pages with it as was counted.
  @Test(arguments: PagePacking.pageBytes, Sizes.allCases)
  func countedPagesAreThoseOfSQLite(pageBytes: Int, sizes: Sizes) throws {
    var random = SeededGenerator(seed: UInt64(pageBytes))
    var packing = PagePacking(pageBytes: pageBytes)
    let database = try Database(":memory:")
    _ = try database.run("PRAGMA page_size = \(pageBytes)")
    _ = try database.run("CREATE TABLE images (tile_id INTEGER PRIMARY KEY, tile_data BLOB)")
    var id = 0
    for batch in [40, 256, 1, 100] {
      let blobs = (0..<batch).map { _ in sizes.make(&random) }
      let order = packing.order(blobs)
      #expect(order.sorted() == Array(0..<batch))
      for index in order {
        id += 1
        _ = try database.run("INSERT INTO images VALUES (\(id), zeroblob(\(blobs[index])))")
      }
    }
    let pages = try #require(Int(database.run("PRAGMA page_count")[0][0]))
    // The schema's page, and the inner pages of the tree, which are few.
    #expect(pages - 1 >= packing.pageCount && pages - 2 <= packing.pageCount + packing.pageCount / 50)
  }

  @Test func tilesOfEarlierPagesAreFound() throws {
    let folder = try TemporaryFolder()
    let writer = try BundleWriter(path: folder.file("a.mbtiles"), matrixSet: .webMercatorQuad, format: .png)
    func distinct(_ index: Int) -> [UInt8] { blob(UInt8(index & 255), count: 100 + index) }
    for index in 0..<600 { try writer.put(TileID(zoom: 12, column: index, row: 0), distinct(index)) }
    for index in [0, 300, 599] {
      try writer.put(TileID(zoom: 12, column: index, row: 1), distinct(index))
    }
    let summary = try writer.finish(BundleMetadata(name: "x"))
    #expect(summary.tiles == 603 && summary.distinctTiles == 600)
    let reader = try MBTilesReader(path: folder.file("a.mbtiles"))
    for index in [0, 300, 599] {
      #expect(try reader.tile(TileID(zoom: 12, column: index, row: 1)) == distinct(index))
    }
  }
}
