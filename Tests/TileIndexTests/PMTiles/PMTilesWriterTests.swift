import Foundation
import Support
import TestSupport
import Testing

@testable import TileIndex

@Suite(.ownThread) struct PMTilesWriterTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func archive(_ name: String = "a.pmtiles", _ tiles: [(TileID, [UInt8])]) throws -> PMTilesReader {
    let writer = try PMTilesWriter(path: folder.file(name), format: .png)
    for (tile, bytes) in tiles { try writer.put(tile, bytes) }
    _ = try writer.finish(BundleMetadata(name: "a"))
    return try PMTilesReader(path: folder.file(name))
  }

  /// Every tile of a few zooms, some of them left out; every third tile is the same.
  func tiles(_ zooms: ClosedRange<Int>, _ random: inout SeededGenerator) -> [(TileID, [UInt8])] {
    zooms.flatMap { TileMatrixSet.webMercatorQuad.wholeRange(zoom: $0) }
      .filter { _ in Int.random(in: 0..<5, using: &random) > 0 }
      .map { ($0, blob(($0.column + $0.row) % 3 == 0 ? 0 : UInt8.random(in: 1...255, using: &random))) }
  }

  /// The archive depends on the tiles and not on their order, is clustered, and its counts are exact.
  @Test(arguments: [1, 2, 3] as [UInt64]) func equalTilesGiveEqualArchives(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let tiles = tiles(0...4, &random)
    let inOrder = try archive("a.pmtiles", tiles.sorted { $0.0.hilbertID < $1.0.hilbertID })
    let mixed = try archive("b.pmtiles", tiles.shuffled(using: &random))
    #expect(try folder.bytes("a.pmtiles") == folder.bytes("b.pmtiles"), "seed \(seed)")
    for (tile, bytes) in tiles { #expect(try mixed.tile(tile) == bytes, "seed \(seed) \(tile)") }
    let survey = try PMTilesSurvey(inOrder)
    let header = inOrder.archive.header
    #expect(survey.isClustered && header.isClustered && header.counts == survey.counts)
    #expect(header.counts.tiles == UInt64(tiles.count))
    #expect(header.counts.contents == UInt64(Set(tiles.map(\.1)).count))
    #expect(header.counts.entries < header.counts.tiles)
    #expect(folder.names == ["a.pmtiles", "b.pmtiles"])
  }

  /// A root directory that does not fit into the first 16 kB refers to leaf directories.
  @Test func manyTilesNeedLeafDirectories() throws {
    let writer = try PMTilesWriter(path: folder.file("a.pmtiles"), format: .png)
    var random = SeededGenerator(seed: 5)
    let range = TileRange(zoom: 9, columns: 0...199, rows: 0...149)
    var sample: [(TileID, [UInt8])] = []
    for tile in range {
      // Lengths and contents that do not compress.
      let bytes =
        blob(1, count: 8)
        + (0..<Int.random(in: 8...60, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        }
      if Int.random(in: 0..<100, using: &random) == 0 { sample.append((tile, bytes)) }
      try writer.put(tile, bytes)
    }
    let summary = try writer.finish(BundleMetadata(name: "a"))
    #expect(summary.tiles == 30_000)
    #expect(try summary.bytes == folder.bytes("a.pmtiles").count)
    let reader = try PMTilesReader(path: folder.file("a.pmtiles"))
    let header = reader.archive.header
    #expect(header.root.end <= 16_384 && header.leaves.count > 0)
    #expect(header.tileData.offset == 16_384)
    let survey = try PMTilesSurvey(reader)
    #expect(survey.depth == 2 && survey.leafDirectories > 5 && survey.leavesOutOfOrder == 0)
    for (tile, bytes) in sample { #expect(try reader.tile(tile) == bytes, "\(tile)") }
    #expect(try reader.range(zoom: 9) == range)
  }

  @Test func headerHasBoundsCenterAndZooms() throws {
    let writer = try PMTilesWriter(path: folder.file("a.pmtiles"), format: .png)
    for zoom in 3...5 { try writer.put(TileID(unchecked: zoom, 1 << (zoom - 3), 1 << (zoom - 3)), blob(1)) }
    let box = BoundingBox(west: -134.123456789, south: 70, east: -100, north: 78)
    _ = try writer.finish(BundleMetadata(name: "a", bounds: box, center: .init(longitude: -120, latitude: 75, zoom: 9)))
    let reader = try PMTilesReader(path: folder.file("a.pmtiles"))
    let header = reader.archive.header
    #expect(header.zooms == (3, 5) && header.center.zoom == 5)
    #expect(abs(header.bounds.west - -134.1234568) < 1e-12)
    // The metadata keep the digits that the header has no room for.
    #expect(reader.metadata["bounds"]?.hasPrefix("-134.123456789,") == true)
    #expect(
      reader.metadata.entries.map(\.name).prefix(6) == ["name", "format", "bounds", "center", "minzoom", "maxzoom"])
  }

  @Test func repeatedTilesAreRefusedAtTheEnd() throws {
    let writer = try PMTilesWriter(path: folder.file("a.pmtiles"), format: .png)
    for seed in [1, 2] as [UInt8] { try writer.put(TileID(unchecked: 2, 1, 1), blob(seed)) }
    let error = #expect(throws: BundleError.self) { try writer.finish(BundleMetadata(name: "a")) }
    #expect(error?.code == .invalidContent && error?.message.contains("2/1/1") == true)
    #expect(folder.names == [])
  }

  /// The disk need not begin with tiles that are copied into another file at the end.
  @Test func tilesOutOfOrderAreNotKept() throws {
    let spool = try PMTilesSpool(try folder.write("spool", bytes: []))
    for (number, row) in [0, 1, 0].enumerated() {
      try [UInt8(number)].withUnsafeBytes { try spool.insert(TileID(unchecked: 1, 0, row), $0, hash: UInt64(number)) }
      #expect(spool.file.isKept == (number < 2))
    }
  }

  @Test func unfinishedWritersLeaveNothing() throws {
    for _ in 0..<2 {
      let writer = try PMTilesWriter(path: folder.file("a.pmtiles"), format: .png)
      try writer.put(TileID(unchecked: 0, 0, 0), blob(1))
      #expect(folder.names.count == 1)
    }
    #expect(folder.names == [])
    let empty = try PMTilesWriter(path: folder.file("a.pmtiles"), format: .png)
    #expect(throws: BundleError.self) { try empty.finish(BundleMetadata(name: "a")) }
    #expect(folder.names == [])
  }

  @Test func otherGridsAndFormatsAreRefused() throws {
    let grid = #expect(throws: BundleError.self) {
      try BundleFile.create(folder.file("a.pmtiles"), matrixSet: .worldCRS84Quad, format: .png)
    }
    #expect(grid?.code == .mismatch && grid?.remedy?.contains("MBTiles") == true)
    let writer = try PMTilesWriter(path: folder.file("a.pmtiles"), format: .jpg)
    #expect(throws: BundleError.self) { try writer.put(TileID(unchecked: 0, 0, 0), blob(1)) }
    #expect(throws: BundleError.self) { try writer.put(TileID(unchecked: 1, 2, 0), blob(1)) }
  }
}
