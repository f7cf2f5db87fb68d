import TestSupport
import Testing
import TileIndex

@testable import RegionCatalog

/// Tile packs partition a region: for all grids and tiles, each tile is in exactly one pack, and the catalogue's rule
/// finds it.
@Suite(.ownThread) struct TilePackPlanTests {
  static let levels = try! TileMatrixSet(
    identifier: "Levels", uri: "urn:tile-matrix-set:Levels",
    tileEdges: [32, 8, 2, 0.5, 0.125, 2.5 / 60, 2.5 / 120], tileSizes: [288])
  static let grids: [TileMatrixSet] = [.webMercatorQuad, .worldCRS84Quad, levels]

  /// A random region: some tiles of a coarse zoom and random tiles below them, with gaps at every level.
  private func region(_ matrixSet: TileMatrixSet, _ random: inout SeededGenerator) -> [SizedTile] {
    let top = Int.random(in: 0...2, using: &random)
    let bottom = min(top + Int.random(in: 1...4, using: &random), matrixSet.zooms.upperBound)
    var tiles: [SizedTile] = []
    let start = matrixSet.wholeRange(zoom: top).shuffled(using: &random).prefix(3)
    var level = Array(start)
    for zoom in top...bottom {
      for tile in level where Int.random(in: 0..<10, using: &random) > 0 {
        tiles.append(SizedTile(tile, bytes: Int.random(in: 100...60_000, using: &random)))
      }
      guard zoom < bottom else { break }
      level = level.flatMap { Array(matrixSet.children(of: $0)!) }.filter { _ in
        Int.random(in: 0..<4, using: &random) > 0
      }
      level = Array(level.prefix(400))
    }
    return tiles.shuffled(using: &random)
  }

  @Test(arguments: grids, [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func everyTileIsInExactlyOnePack(_ matrixSet: TileMatrixSet, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let tiles = region(matrixSet, &random)
    try #require(!tiles.isEmpty)
    let bytesMax = Int.random(in: 300_000...2_000_000, using: &random)
    let plan = try TilePackPlan(tiles, matrixSet: matrixSet, bytesMax: bytesMax)
    let context: Comment = "\(matrixSet) seed \(seed) limit \(bytesMax)"

    let dealt = plan.packs.flatMap(\.tiles)
    #expect(dealt.count == tiles.count && Set(dealt) == Set(tiles.map(\.tile)), context)
    let sizes = Dictionary(uniqueKeysWithValues: tiles.map { ($0.tile, $0.bytes) })
    for pack in plan.packs {
      let bytes = pack.tiles.reduce(BundleSize.emptyBundle) { $0 + BundleSize.estimate(blob: sizes[$1]!) }
      #expect(bytes <= bytesMax, context)
      #expect(!pack.tiles.isEmpty && !pack.roots.isEmpty, context)
    }
    #expect(Set(plan.packs.flatMap(\.roots)).count == plan.packs.reduce(0) { $0 + $1.roots.count }, context)
    // Overviews come first.
    let firstDetail = plan.packs.firstIndex { !$0.isOverview } ?? plan.packs.count
    #expect(plan.packs[firstDetail...].allSatisfy { !$0.isOverview }, context)

    let index = TilePackIndex(Catalog.Region.sample(matrixSet, plan))
    for (number, pack) in plan.packs.enumerated() {
      for tile in pack.tiles { #expect(index.pack(of: tile) == number, "\(context): \(tile)") }
    }
    // The order of the tiles does not matter.
    #expect(
      try TilePackPlan(tiles.shuffled(using: &random), matrixSet: matrixSet, bytesMax: bytesMax).packs.map(\.roots)
        == plan.packs.map(\.roots), context)
  }

  /// Every pack with a tile at a position is found.
  @Test(arguments: grids, [11, 12, 13] as [UInt64])
  func positionsFindTheirPacks(_ matrixSet: TileMatrixSet, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let tiles = region(matrixSet, &random)
    let plan = try TilePackPlan(tiles, matrixSet: matrixSet, bytesMax: 400_000)
    let index = TilePackIndex(Catalog.Region.sample(matrixSet, plan))
    for sized in tiles.prefix(25) {
      let box = matrixSet.geographicBounds(of: sized.tile)
      let longitude = Double.random(in: box.west..<box.east, using: &random)
      let latitude = Double.random(in: (box.south + 1e-9)..<box.north, using: &random)
      let context: Comment = "\(matrixSet) seed \(seed) \(sized.tile) \(longitude),\(latitude)"
      let found = index.packs(longitude: longitude, latitude: latitude)
      let wanted = Set(
        plan.packs.indices.filter { number in
          plan.packs[number].tiles.contains {
            matrixSet.tile(longitude: longitude, latitude: latitude, zoom: $0.zoom) == $0
          }
        })
      #expect(Set(found).isSuperset(of: wanted) && found == found.sorted(), context)
      // Only packs with a root at the position are found.
      for number in found {
        let roots = plan.packs[number].roots
        #expect(
          roots.contains { matrixSet.tile(longitude: longitude, latitude: latitude, zoom: $0.zoom) == $0 }, context)
      }
      let point = BoundingBox(west: longitude, south: latitude, east: longitude, north: latitude)
      #expect(Set(index.packs(in: point)).isSuperset(of: wanted), context)
      let track = Track(lines: [[SIMD2(longitude, latitude)]])
      #expect(index.packs(along: track) == found, context)
      // A track finds at least the packs of its ends.
      let end = matrixSet.geographicBounds(of: tiles[0].tile).centre
      let way = Track(lines: [[SIMD2(longitude, latitude), end]])
      #expect(
        Set(index.packs(along: way)).isSuperset(of: found + index.packs(longitude: end.x, latitude: end.y)), context
      )
    }
  }

  /// Packs of the finest tiles cover about five square miles; larger tiles are not limited.
  @Test func areaOfPacksIsLimited() throws {
    let grid = TileMatrixSet.webMercatorQuad
    let city = try #require(grid.tile(longitude: -105.52, latitude: 40.37, zoom: 11))
    var tiles = [city]
    var level = [city]
    for _ in 12...15 {
      level = level.flatMap { Array(grid.children(of: $0)!) }
      tiles += level
    }
    let sized = tiles.map { SizedTile($0, bytes: 3000) }
    let plan = try TilePackPlan(sized, matrixSet: grid, bytesMax: 100_000_000)
    let details = plan.packs.filter { !$0.isOverview }
    #expect(details.count == 16)
    for pack in details {
      let area = pack.roots.reduce(0) { $0 + grid.area(of: $1) }
      #expect(area <= TilePackPlan.squareMetresMax && area > TilePackPlan.squareMetresMax / 2)
    }
    #expect(plan.packs[0].isOverview && plan.packs[0].tiles.count == 5)
    // Without the finest levels everything fits into one pack.
    let coarse = sized.filter { $0.tile.zoom < 13 }
    #expect(try TilePackPlan(coarse, matrixSet: grid, bytesMax: 100_000_000).packs.map(\.tiles.count) == [coarse.count])
  }

  /// The error names the largest tile; a limit that fits it fits all tiles.
  @Test func oversizedTilesAreReported() throws {
    let tile = try TileID(zoom: 3, column: 2, row: 1)
    let tiles = [
      SizedTile(try TileID(zoom: 3, column: 0, row: 0), bytes: 700_000), SizedTile(tile, bytes: 900_000),
      SizedTile(try TileID(zoom: 3, column: 4, row: 4), bytes: 800_000),
      SizedTile(try TileID(zoom: 2, column: 1, row: 0), bytes: 5000),
    ]
    let error = #expect(throws: TilePackPlan.TileTooLarge.self) {
      try TilePackPlan(tiles, matrixSet: .webMercatorQuad, bytesMax: 500_000)
    }
    let large = try #require(error)
    #expect(large.tile == tile)
    let plan = try TilePackPlan(tiles, matrixSet: .webMercatorQuad, bytesMax: large.bundleBytes)
    #expect(Set(plan.packs.flatMap(\.tiles)) == Set(tiles.map(\.tile)))
  }

  /// Estimated sizes are never smaller than the files.
  @Test(arguments: [1, 2, 3] as [UInt64]) func sizesAreUpperEstimates(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    let writer = try BundleWriter(path: folder.file("a.mbtiles"), matrixSet: .webMercatorQuad, format: .png)
    var estimate = BundleSize.emptyBundle
    let large = Int.random(in: 2000...80_000, using: &random)
    for tile in TileMatrixSet.webMercatorQuad.wholeRange(zoom: 4) {
      let count = Int.random(in: 100...large, using: &random)
      var blob = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + [UInt8](repeating: 7, count: count)
      // All blobs are different.
      (blob[8], blob[9]) = (UInt8(tile.column), UInt8(tile.row))
      try writer.put(tile, blob)
      estimate += BundleSize.estimate(blob: blob.count)
    }
    let summary = try writer.finish(BundleMetadata(name: "a"))
    #expect(summary.bytes <= estimate, "seed \(seed)")
    #expect(Double(estimate) < 2.1 * Double(summary.bytes), "seed \(seed)")
    let sizes = try MBTilesReader(path: folder.file("a.mbtiles")).sizedTiles()
    #expect(sizes.count == 256 && sizes.allSatisfy { $0.bytes > 100 })
  }
}

extension Catalog.Region {
  /// A region whose only files are its packs.
  static func sample(_ matrixSet: TileMatrixSet, _ plan: TilePackPlan) -> Catalog.Region {
    let file = Catalog.File(file: "a.mbtiles", bytes: 1, sha256: "0")
    let facts = Catalog.BundleFacts(
      bounds: [-180, -85, 180, 85], zooms: 0...5, format: .png, tileCount: 1, tilesHash: "0")
    let packs = plan.packs.enumerated().map { number, pack in
      Catalog.TilePack(
        Catalog.File(file: "a.p\(number).mbtiles", bytes: 1, sha256: "0"), bounds: [-180, -85, 180, 85],
        zooms: pack.tiles.map(\.zoom).min()!...pack.tiles.map(\.zoom).max()!, roots: pack.roots,
        tileCount: pack.tiles.count, isOverview: pack.isOverview)
    }
    return Catalog.Region(
      RegionNames(id: "a", productID: "a"), title: "A", category: "c", description: nil, bounds: facts.bounds,
      boundary: nil, matrixSet: matrixSet, edition: "1", attribution: nil, priceTier: nil, bundle: file, facts: facts,
      preview: nil, previewBounds: nil, packs: packs, patches: [])
  }
}
