import TestSupport
import Testing

@testable import TileIndex

@Suite(.ownThread) struct HilbertHullTests {
  /// Against every tile of the stretch, one by one.
  @Test(arguments: 0...6) func asTheTilesThemselves(zoom: Int) throws {
    var random = SeededGenerator(seed: 40 + UInt64(zoom))
    let first = TileID.firstHilbertID(zoom: zoom)
    let end = TileID.firstHilbertID(zoom: zoom + 1)
    for _ in 0..<200 {
      let lower = UInt64.random(in: first..<end, using: &random)
      let upper = UInt64.random(in: (lower + 1)...end, using: &random)
      let tiles = try (lower..<upper).map { try TileID(hilbertID: $0) }
      let expected = TileRange(
        zoom: zoom, columns: tiles.map(\.column).min()!...tiles.map(\.column).max()!,
        rows: tiles.map(\.row).min()!...tiles.map(\.row).max()!)
      var hull = HilbertHull(zoom: zoom)
      #expect(!hull.contains(lower..<upper))
      hull.insert(lower..<upper)
      #expect(hull.range == expected, "\(lower)..<\(upper)")
      #expect(hull.contains(lower..<upper))
      let other = UInt64.random(in: first..<end, using: &random)
      #expect(try hull.contains(other..<(other + 1)) == expected.contains(TileID(hilbertID: other)))
    }
  }

  @Test func nothingIsInserted() {
    var hull = HilbertHull(zoom: 2)
    hull.insert(7..<7)
    #expect(hull.range == nil)
    #expect(hull.contains(7..<7))
  }
}
