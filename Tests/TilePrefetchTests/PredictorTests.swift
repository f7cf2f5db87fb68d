import Foundation
import TestSupport
import Testing
import TileIndex
import TilePrefetch

@Suite(.ownThread) struct PredictorTests {
  private let start = Viewport(x: 0.53, y: 0.36, zoom: 13, width: 1170, height: 2532)

  private func moved(_ dx: Double, _ dy: Double = 0, zoom: Double = 0) -> Viewport {
    var viewport = start
    viewport.x += dx * start.shortSide
    viewport.y += dy * start.shortSide
    viewport.zoom += zoom
    return viewport
  }

  @Test func viewportListsVisibleTiles() {
    let whole = Viewport(x: 0.5, y: 0.5, zoom: 2, width: 512, height: 256)
    // The middle of 4 x 4 tiles, two tiles wide and one high: it covers half a tile above and below.
    #expect(whole.tiles == TileRange(zoom: 2, columns: 1...2, rows: 1...2))
    #expect(Viewport(x: 0.5, y: 0.5, zoom: 2.49, width: 256, height: 256).tiles.zoom == 2)
    #expect(Viewport(x: 0.5, y: 0.5, zoom: 2.5, width: 256, height: 256).tiles.zoom == 3)
    #expect(start.tiles.count >= 50 && start.tiles.count <= 66)
  }

  @Test func atRestNeighbouringTilesComeFirst() {
    var predictor = PrefetchPredictor()
    predictor.update(start, phase: .rest, at: 0)
    let plan = predictor.plan(countMax: 300)
    let visible = start.tiles
    let ring = TileRange(
      zoom: 13, columns: (visible.columns.lowerBound - 1)...(visible.columns.upperBound + 1),
      rows: (visible.rows.lowerBound - 1)...(visible.rows.upperBound + 1))
    // After the few coarse tiles that cover all of it.
    let coarse = plan.prefix { $0.zoom == 10 }
    #expect(
      (2...12).contains(coarse.count)
        && visible.allSatisfy { tile in
          coarse.contains { $0.column == tile.column >> 3 && $0.row == tile.row >> 3 }
        })
    let next = plan.dropFirst(coarse.count).prefix(10)
    #expect(next.allSatisfy { ring.contains($0) && !visible.contains($0) }, "\(next)")
    #expect(plan.contains { $0.zoom == 14 })
    #expect(Set(plan).count == plan.count)
  }

  @Test func smallBudgetPlansOnlyProbableTiles() {
    var predictor = PrefetchPredictor()
    predictor.update(start, phase: .rest, at: 0)
    let (small, large) = (predictor.plan(countMax: 100), predictor.plan(countMax: 600))
    #expect(small.count < large.count && Array(large.prefix(small.count)) == small)
  }

  @Test func afterAZoomAnotherZoomIsExpected() {
    var predictor = PrefetchPredictor()
    predictor.update(start, phase: .rest, at: 0)
    predictor.update(start, phase: .animation(target: moved(0, zoom: -1)), at: 0.1)
    predictor.update(moved(0, zoom: -1), phase: .rest, at: 0.4)
    let outwards = predictor.plan(countMax: 200).filter { $0.zoom == 11 }.count
    var fresh = PrefetchPredictor()
    fresh.update(moved(0, zoom: -1), phase: .rest, at: 0)
    #expect(outwards > fresh.plan(countMax: 200).filter { $0.zoom == 11 }.count)
  }

  @Test func unannouncedZoomsArePlanned() {
    var predictor = PrefetchPredictor()
    var viewport = start
    predictor.update(viewport, phase: .rest, at: 0)
    let before = predictor.plan(countMax: 300).filter { $0.zoom == 14 }.count
    for step in 1...4 {
      viewport.zoom += step % 2 == 0 ? -1 : 1
      predictor.update(viewport, phase: .rest, at: Double(step))
    }
    viewport.x += viewport.shortSide / 10
    predictor.update(viewport, phase: .drag, at: 5)
    predictor.update(viewport, phase: .rest, at: 5.1)
    #expect(predictor.plan(countMax: 300).filter { $0.zoom == 14 }.count > before)
  }

  @Test func knownPathIsPlannedInOrder() {
    var predictor = PrefetchPredictor()
    let goal = moved(2)
    predictor.update(start, phase: .rest, at: 0)
    predictor.update(start, phase: .fling(target: goal), at: 0.1)
    let plan = predictor.plan(countMax: 200)
    let newOnes = plan.filter { !start.tiles.contains($0) && goal.tiles.contains($0) }
    #expect(Set(goal.tiles).subtracting(plan).isEmpty)
    // From west to east.
    let columns = newOnes.map(\.column)
    #expect(columns == columns.sorted())
  }

  @Test func slowSourcePlansTheTargetOnly() {
    var predictor = PrefetchPredictor(options: .init(tilesPerSecond: 70))
    let goal = moved(9, zoom: 1)
    predictor.update(start, phase: .animation(target: goal), at: 0)
    #expect(Set(predictor.plan(countMax: 500).prefix(goal.tiles.count)) == Set(goal.tiles))
  }

  @Test func dragIsExtrapolated() {
    var predictor = PrefetchPredictor()
    for frame in 0..<7 { predictor.update(moved(Double(frame) * 0.05), phase: .drag, at: Double(frame) / 60) }
    let plan = predictor.plan(countMax: 200)
    let visible = moved(0.3).tiles
    let beyond = plan.filter { $0.zoom == 13 && !visible.contains($0) }
    #expect(!beyond.isEmpty && beyond.allSatisfy { $0.column > visible.columns.upperBound }, "\(beyond)")
    #expect(plan.last?.zoom == 10)
  }

  @Test func gpsTrackIsExtrapolated() {
    var predictor = PrefetchPredictor()
    for second in 0..<10 { predictor.update(moved(0, -0.01 * Double(second)), phase: .follow, at: Double(second)) }
    let plan = predictor.plan(countMax: 200)
    let visible = moved(0, -0.09).tiles
    let beyond = plan.filter { !visible.contains($0) }
    #expect(!beyond.isEmpty && beyond.allSatisfy { $0.row < visible.rows.lowerBound }, "\(beyond)")
  }

  @Test func motionlessMapCountsAsAtRest() {
    var (follower, resting) = (PrefetchPredictor(), PrefetchPredictor())
    for second in 0..<10 {
      follower.update(start, phase: .follow, at: Double(second))
      resting.update(start, phase: .rest, at: Double(second))
    }
    #expect(follower.plan(countMax: 200) == resting.plan(countMax: 200))
  }

  /// The centre of the plan's tiles of the next zoom.
  private func zoomInMiddle(_ plan: [TileID]) -> (column: Double, row: Double) {
    let inner = plan.filter { $0.zoom == 14 }
    let count = Double(inner.count)
    return (
      inner.reduce(0) { $0 + Double($1.column) + 0.5 } / count, inner.reduce(0) { $0 + Double($1.row) + 0.5 } / count
    )
  }

  @Test func zoomInIsCentredAtTheCursor() throws {
    let loader = MapLoader(
      cache: TileCache<TileID, Int>(byteCountMax: 400), planner: PrefetchPredictor(), source: .init(loadsMax: 1000),
      tileCost: 1)
    func planned(_ point: MapPoint?) -> [TileID] {
      loader.cache.removeAll()
      loader.update(start, phase: .rest, at: 0, point: point)
      var tiles: [TileID] = []
      while let load = loader.next() {
        tiles.append(load.key)
        loader.finish(load, .tile(0, byteCount: 1))
      }
      return tiles
    }
    let middle = zoomInMiddle(planned(nil))
    let side = start.shortSide
    let right = zoomInMiddle(planned(MapPoint(x: start.x + side / 2, y: start.y)))
    #expect(right.column > middle.column + 1 && abs(right.row - middle.row) < 1, "\(right) \(middle)")
    // A cursor position off the screen is ignored.
    let away = zoomInMiddle(planned(MapPoint(x: start.x + 3 * side, y: start.y)))
    #expect(abs(away.column - middle.column) < 0.01, "\(away) \(middle)")
  }

  /// Two fingers around a point near the right edge, zooming out by 1.
  @Test func zoomInIsCentredAtTheLastPinch() throws {
    var predictor = PrefetchPredictor()
    let fixed = MapPoint(x: start.x + 0.4 * start.shortSide, y: start.y)
    func pinched(_ zooms: Double) -> Viewport {
      var viewport = start
      viewport.zoom += 1 + zooms
      let scale = exp2(-zooms) / 2
      viewport.x = fixed.x + (start.x - fixed.x) * scale
      return viewport
    }
    predictor.update(pinched(0), phase: .rest, at: 0)
    for frame in 1...10 {
      predictor.update(pinched(-Double(frame) / 10), phase: .pinch, at: Double(frame) / 60)
    }
    #expect(predictor.point == nil, "it is not over")
    predictor.update(pinched(-1), phase: .rest, at: 0.2)
    let point = try #require(predictor.point)
    #expect(abs(point.x - fixed.x) < 1e-9 && abs(point.y - fixed.y) < 1e-9, "\(point) \(fixed)")
  }

  @Test func zoomsOutsideTheSourceAreNotPlanned() {
    var predictor = PrefetchPredictor(options: .init(zooms: 11...13))
    predictor.update(start, phase: .rest, at: 0)
    let plan = predictor.plan(countMax: 400)
    #expect(!plan.isEmpty && plan.allSatisfy { (11...13).contains($0.zoom) })
  }

  @Test func tilesOutsideTheSourceAreNotPlanned() {
    // The eastern edge of the source is in the middle of the screen.
    var predictor = PrefetchPredictor(options: .init(x: 0.2...start.x))
    predictor.update(start, phase: .rest, at: 0)
    let plan = predictor.plan(countMax: 400)
    #expect(!plan.isEmpty && plan.allSatisfy { Double($0.column) / Double(1 << $0.zoom) < start.x })
  }

  /// Plans are valid for any movement.
  @Test(arguments: [UInt64(1), 2, 3]) func randomMovementsGiveValidPlans(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var predictor = PrefetchPredictor()
    var time = 0.0
    for _ in 0..<300 {
      let viewport = Viewport(
        x: Double.random(in: -0.1...1.1, using: &random), y: Double.random(in: -0.1...1.1, using: &random),
        zoom: Double.random(in: 0...19, using: &random), width: 800, height: 600)
      let goal = Viewport(x: 0.5, y: 0.5, zoom: Double.random(in: 0...19, using: &random), width: 800, height: 600)
      let phases: [CameraPhase] = [.rest, .drag, .pinch, .follow, .fling(target: goal), .animation(target: goal)]
      time += Double.random(in: 0...0.2, using: &random)
      predictor.update(viewport, phase: phases.randomElement(using: &random)!, at: time)
      let plan = predictor.plan(countMax: 100)
      let isSound =
        plan.count <= 100 + viewport.tiles.count && Set(plan).count == plan.count
        && plan.allSatisfy {
          $0.zoom >= 0 && (0..<(1 << $0.zoom)).contains($0.column) && (0..<(1 << $0.zoom)).contains($0.row)
        }
      guard isSound else {
        Issue.record("seed \(seed): \(viewport)")
        return
      }
    }
  }
}
