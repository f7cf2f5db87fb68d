import TestSupport
import Testing
import TileIndex

@testable import TileCut

@Suite(.ownThread) struct CandidateTilesTests {
  private static func randomRanges(_ random: inout SeededGenerator, zoom: Int) -> [TileRange] {
    let edge = 1 << zoom
    return (0..<Int.random(in: 1...12, using: &random)).map { _ in
      let (c, r) = (Int.random(in: 0..<edge, using: &random), Int.random(in: 0..<edge, using: &random))
      return TileRange(
        zoom: zoom, columns: c...min(edge - 1, c + Int.random(in: 0...6, using: &random)),
        rows: r...min(edge - 1, r + Int.random(in: 0...6, using: &random)))
    }
  }

  @Test(arguments: 0..<30 as Range<UInt64>)
  func containsTheUnionOfItsRanges(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let ranges = Self.randomRanges(&random, zoom: 5)
    let tiles = CandidateTiles(zoom: 5, ranges)
    let expected = Set(ranges.flatMap { Array($0) })
    #expect(tiles.count == expected.count)
    for row in 0..<32 {
      for column in 0..<32 {
        let tile = TileID(unchecked: 5, column, row)
        #expect(tiles.contains(tile) == expected.contains(tile))
      }
    }
    let parents = tiles.parents(in: .webMercatorQuad)
    let expectedParents = Set(expected.map { TileID(unchecked: 4, $0.column / 2, $0.row / 2) })
    #expect(parents.count == expectedParents.count)
    #expect(expectedParents.allSatisfy { parents.contains($0) })
    let part = TileRange(zoom: 5, columns: 8...20, rows: 3...17)
    #expect(Set(tiles.tiles(in: part)) == expected.filter { part.contains($0) })
  }

  /// Every candidate tile lies under exactly one subtree, whatever the zooms.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func subtreesCoverEveryTileOnce(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let set = TileMatrixSet.webMercatorQuad
    let working = 6
    let zoomMin = Int.random(in: 0...working, using: &random)
    var level = CandidateTiles(zoom: working, Self.randomRanges(&random, zoom: working))
    let leaves = level
    var levels = [working: level]
    while level.zoom > zoomMin {
      level = level.parents(in: set)
      levels[level.zoom] = level
    }
    let subtrees = SubtreeSequence(levels, matrixSet: set, workingZoom: working, zoomMin: zoomMin)
    var covered: [TileID: Int] = [:]
    for root in subtrees {
      #expect(root.zoom == subtrees.rootZoom && subtrees.rootZoom >= zoomMin)
      var range: TileRange? = TileRange(zoom: root.zoom, columns: root.column...root.column, rows: root.row...root.row)
      while let r = range, r.zoom < working { range = set.children(of: r) }
      for tile in leaves.tiles(in: range!) { covered[tile, default: 0] += 1 }
    }
    // Those under a tile are the same in the same order.
    for zoom in 0...subtrees.rootZoom where set.zooms.contains(zoom) {
      let parts = Dictionary(grouping: Array(subtrees)) { set.ancestor(of: $0, zoom: zoom) }
      for (top, roots) in parts.prefix(8) {
        #expect(Array(subtrees.under(top, in: set)) == roots, "seed \(seed), \(top)")
      }
    }
    #expect(covered.count == leaves.count, "seed \(seed)")
    #expect(covered.values.allSatisfy { $0 == 1 }, "seed \(seed)")
  }
}
