import TestSupport
import Testing
import TileIndex

/// Quadkeys and Hilbert ids.
@Suite(.ownThread) struct TileNumberTests {
  @Test(arguments: [
    (0, 0, 0, ""), (1, 0, 0, "0"), (1, 1, 0, "1"), (1, 0, 1, "2"), (1, 1, 1, "3"),
    // The example of Microsoft's "Bing Maps Tile System".
    (3, 3, 5, "213"), (16, 35210, 21493, "1202102332221212"),
  ])
  func quadkeysMatchBing(zoom: Int, column: Int, row: Int, quadkey: String) throws {
    let tile = try TileID(zoom: zoom, column: column, row: row)
    #expect(tile.quadkey == quadkey)
    #expect(try TileID(quadkey: quadkey) == tile)
  }

  @Test(arguments: ["4", "01a", "0 1", "١", String(repeating: "0", count: 31)])
  func invalidQuadkeysAreRefused(quadkey: String) {
    let error = #expect(throws: GridError.self) { try TileID(quadkey: quadkey) }
    #expect(error?.code == .invalidQuadkey)
  }

  @Test(
    arguments: [
      (0, 0, 0, 0), (1, 0, 0, 1), (1, 0, 1, 2), (1, 1, 1, 3), (1, 1, 0, 4), (2, 0, 0, 5), (2, 1, 0, 6), (2, 1, 1, 7),
      (2, 0, 1, 8), (2, 0, 2, 9), (12, 3423, 1763, 19_078_479),
    ] as [(Int, Int, Int, UInt64)])
  func hilbertIDsMatchPMTiles(zoom: Int, column: Int, row: Int, id: UInt64) throws {
    let tile = try TileID(zoom: zoom, column: column, row: row)
    #expect(tile.hilbertID == id)
    #expect(try TileID(hilbertID: id) == tile)
  }

  /// Every id up to zoom 7 is a different tile, and consecutive ids are adjacent tiles.
  @Test func hilbertIDsVisitEveryTileOnceAndAdjacently() throws {
    var next: UInt64 = 0
    for zoom in 0...7 {
      var seen = Set<TileID>()
      var previous: TileID?
      for _ in 0..<(1 << (2 * zoom)) {
        let tile = try TileID(hilbertID: next)
        #expect(tile.zoom == zoom)
        #expect(tile.hilbertID == next)
        #expect(seen.insert(tile).inserted)
        if let previous {
          #expect(abs(tile.column - previous.column) + abs(tile.row - previous.row) == 1)
        } else {
          #expect(tile.column == 0 && tile.row == 0)
        }
        previous = tile
        next += 1
      }
      #expect(previous?.row == 0 && previous?.column == (1 << zoom) - 1)
    }
  }

  @Test func quadkeysAndHilbertIDsRoundTrip() throws {
    var random = SeededGenerator(seed: 12)
    for _ in 0..<3_000 {
      let tile = random.tile(zooms: 0...30)
      #expect(try TileID(hilbertID: tile.hilbertID) == tile, "seed 12")
      #expect(try TileID(quadkey: tile.quadkey) == tile, "seed 12")
      #expect(tile.quadkey.count == tile.zoom)
      if let parent = tile.parent { #expect(tile.quadkey.hasPrefix(parent.quadkey)) }
    }
  }

  @Test func hilbertIDsBeyondZoom30AreRefused() throws {
    let last = ((1 << 62) - 1) / 3 as UInt64  // all tiles of zooms 0 to 30
    let tile = try TileID(hilbertID: last - 1)
    #expect(tile.description == "30/1073741823/0")
    #expect(tile.hilbertID == last - 1)
    for id in [last, .max] {
      let error = #expect(throws: GridError.self) { try TileID(hilbertID: id) }
      #expect(error?.code == .invalidHilbertID)
    }
  }
}
