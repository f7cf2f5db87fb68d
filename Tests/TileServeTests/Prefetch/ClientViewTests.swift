import TestSupport
import Testing
import TileIndex

@testable import TileServe

@Suite(.ownThread) struct ClientViewTests {
  /// Opens a map of 4 by 3 tiles at zoom 10, from column 500 and row 300.
  private func opened(at seconds: Double = 0) -> ClientView {
    var view = ClientView(tile(10, 500, 300), at: seconds)
    for column in 500..<504 {
      for row in 300..<303 { view.note(tile(10, column, row), at: seconds + 0.1) }
    }
    return view
  }

  @Test func firstRequestsGiveTheScreen() {
    let view = opened()
    #expect(view.visible == TileRange(zoom: 10, columns: 500...503, rows: 300...302))
    #expect(!view.isMoving(at: 1))
  }

  @Test func laterTilesMoveTheScreen() {
    var view = opened()
    for step in 1...4 {
      for row in 300..<303 { view.note(tile(10, 503 + step, row), at: 2 + Double(step) * 0.5) }
    }
    #expect(view.visible == TileRange(zoom: 10, columns: 504...507, rows: 300...302))
    #expect(view.isMoving(at: 4.5) && view.motion.x > 1 && view.motion.x < 3 && view.motion.y == 0)
    #expect(!view.isMoving(at: 10))
    // Back, and up.
    view.note(tile(10, 503, 299), at: 11)
    #expect(view.visible == TileRange(zoom: 10, columns: 503...506, rows: 299...301))
    #expect(view.motion.x < 0 && view.motion.y < 0)
  }

  @Test func anotherZoomIsAnotherScreen() {
    var view = opened()
    view.note(tile(11, 1002, 602), at: 5)
    view.note(tile(11, 1003, 602), at: 5.1)
    #expect(view.visible == TileRange(zoom: 11, columns: 1002...1003, rows: 602...602))
    #expect(!view.isMoving(at: 5.2))
  }

  @Test func jumpsAreAnotherScreen() {
    var view = opened()
    view.note(tile(10, 20, 900), at: 5)
    #expect(view.visible == TileRange(zoom: 10, columns: 20...20, rows: 900...900))
  }

  /// For any requests in any order the screen keeps its limits and contains the last tile.
  @Test(arguments: UInt64(1)...10) func anyRequests(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var view = ClientView(tile(0, 0, 0), at: 0)
    var now = 0.0
    for _ in 0..<2000 {
      now += Double.random(in: 0...0.4, using: &random)
      let zoom = Int.random(in: 0...3, using: &random) == 0 ? Int.random(in: 0...22, using: &random) : view.visible.zoom
      let size = 1 << zoom
      let near = Int.random(in: 0...4, using: &random) > 0
      let column =
        near
        ? view.visible.columns.upperBound + Int.random(in: -3...3, using: &random)
        : Int.random(in: 0..<size, using: &random)
      let asked = tile(zoom, min(max(column, 0), size - 1), Int.random(in: 0..<size, using: &random))
      view.note(asked, at: now)
      #expect(view.visible.contains(asked), "seed \(seed)")
      #expect(view.visible.columns.count <= 16 && view.visible.rows.count <= 16, "seed \(seed)")
      let planned = ClientPlan.tiles(view, at: now, countMax: 32, grid: .webMercatorQuad, zooms: 0...22)
      #expect(planned.count <= 32 && Set(planned).count == planned.count, "seed \(seed)")
      for tile in planned {
        #expect(!view.visible.contains(tile) && TileMatrixSet.webMercatorQuad.contains(tile), "seed \(seed): \(tile)")
      }
    }
  }

  @Test func atRestTheRingIsPlannedFirst() {
    let view = opened()
    let tiles = ClientPlan.tiles(view, at: 5, countMax: 100, grid: .webMercatorQuad, zooms: 9...11)
    let ring = tiles.prefix { $0.zoom == 10 }
    #expect(ring.count == 6 * 5 - 12 && Set(ring).count == ring.count)
    #expect(tiles.contains(tile(9, 250, 150)) && tiles.contains(tile(11, 1004, 603)))
    #expect(ClientPlan.tiles(view, at: 5, countMax: 100, grid: .webMercatorQuad, zooms: 10...10).count == 18)
  }

  @Test func inMotionTheNextStripsArePlanned() {
    var view = opened()
    for step in 1...4 { view.note(tile(10, 503 + step, 301), at: 2 + Double(step) * 0.5) }
    let tiles = ClientPlan.tiles(view, at: 4.1, countMax: 100, grid: .webMercatorQuad, zooms: 0...14)
    // The nearest column first, and none in the opposite direction.
    #expect(Set(tiles.prefix(3)) == [tile(10, 508, 300), tile(10, 508, 301), tile(10, 508, 302)])
    #expect(tiles.allSatisfy { $0.zoom == 10 && $0.column > 507 })
  }

  @Test func slowDisksAreDetected() {
    var times = ReadTimes()
    for _ in 0..<100 { times.add(0.0002) }
    #expect(!times.isSlow)
    for _ in 0..<10 { times.add(0.012) }
    #expect(times.isSlow)
    for _ in 0..<60 { times.add(0.0002) }
    #expect(!times.isSlow)
    // A single stall does not make a disk slow for ever.
    times.add(300)
    for _ in 0..<100 { times.add(0.0002) }
    #expect(!times.isSlow)
  }
}
