import TestSupport
import Testing
import TileIndex
import TilePrefetch

@Suite struct RequestPredictorTests {
  /// Asks for a screen of tiles within a tenth of a second.
  private func ask(
    _ predictor: inout RequestPredictor<String>, _ range: TileRange, from client: String = "a", at time: Double
  ) {
    for (index, tile) in range.enumerated() { predictor.note(tile, from: client, at: time + Double(index) * 0.001) }
  }

  private let screen = TileRange(zoom: 12, columns: 2000...2004, rows: 1400...1405)

  @Test func theScreenIsWhatWasAskedFor() {
    var predictor = RequestPredictor<String>()
    ask(&predictor, screen, at: 0)
    #expect(predictor.view(of: "a") == screen)
    let plan = predictor.plan(for: "a", countMax: 60, at: 2)
    #expect(!plan.isEmpty && plan.count <= 60 && plan.allSatisfy { !screen.contains($0) })
    let wide = TileRange(zoom: 12, columns: 1999...2005, rows: 1399...1406)
    #expect(plan.filter { wide.contains($0) }.count >= 20, "the ring around it: \(plan)")
  }

  @Test func theScreenMovesWithTilesBeyondItsEdge() {
    var predictor = RequestPredictor<String>()
    ask(&predictor, screen, at: 0)
    for step in 1...3 {
      let column = TileRange(zoom: 12, columns: (2004 + step)...(2004 + step), rows: 1400...1405)
      ask(&predictor, column, at: 2 + Double(step) * 0.1)
    }
    #expect(predictor.view(of: "a") == TileRange(zoom: 12, columns: 2003...2007, rows: 1400...1405))
    // Still moving to the east: what comes next lies there.
    let plan = predictor.plan(for: "a", countMax: 24, at: 2.35)
    #expect(plan.first.map { $0.column > 2007 } == true, "\(plan)")
  }

  @Test func aZoomBeginsAnotherScreen() {
    var predictor = RequestPredictor<String>()
    ask(&predictor, screen, at: 0)
    let inner = TileRange(zoom: 13, columns: 4002...4006, rows: 2803...2808)
    ask(&predictor, inner, at: 3)
    #expect(predictor.view(of: "a") == inner)
  }

  @Test func clientsAreBoundedAndForgotten() {
    var options = RequestPredictor<Int>.Options()
    options.clientsMax = 10
    options.lifetime = 60
    var predictor = RequestPredictor<Int>(options: options)
    for client in 0..<100 { predictor.note(TileID(unchecked: 3, 1, 1), from: client, at: Double(client)) }
    #expect(predictor.clientCount == 10)
    #expect(predictor.view(of: 99) != nil && predictor.view(of: 5) == nil)
    #expect(predictor.plan(for: 99, countMax: 10, at: 500).isEmpty)
  }

  /// Whatever is asked for, a plan keeps to its bounds and to the world.
  @Test(arguments: [UInt64(1), 2]) func anyRequestsGiveAPlanWithinBounds(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var predictor = RequestPredictor<Int>()
    var time = 0.0
    for _ in 0..<2000 {
      let zoom = Int.random(in: 0...20, using: &random)
      let (column, row) = (
        Int.random(in: 0..<(1 << zoom), using: &random), Int.random(in: 0..<(1 << zoom), using: &random)
      )
      time += Double.random(in: 0...0.5, using: &random)
      predictor.note(TileID(unchecked: zoom, column, row), from: Int.random(in: 0..<3, using: &random), at: time)
      let plan = predictor.plan(for: 0, countMax: 50, at: time)
      let isSound =
        plan.count <= 50 && Set(plan).count == plan.count
        && plan.allSatisfy { (0..<(1 << $0.zoom)).contains($0.column) && (0..<(1 << $0.zoom)).contains($0.row) }
      guard isSound else {
        Issue.record("seed \(seed): \(plan)")
        return
      }
    }
  }
}
