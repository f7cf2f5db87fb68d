import TileIndex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension PrefetchPredictor {
  /// What a movement with a known end will show, first things first, of those at the same time the ones that stay longest.
  func alongPath(from: Viewport, to: Viewport) -> [TileID] {
    let goal = to.tiles
    if isSlow(to) { return MissingOrder.middleFirst(Array(goal), in: goal) }
    var shown: [TileID: (first: Int, count: Int)] = [:]
    let steps = Self.stepCount(from, to)
    for step in 1...steps {
      let tiles = from.towards(to, Double(step) / Double(steps)).tiles
      guard tiles.zoom >= 0 else { continue }
      for tile in tiles { shown[tile, default: (step, 0)].count += 1 }
    }
    return
      shown
      .sorted { a, b in (a.value.first, -a.value.count, a.key) < (b.value.first, -b.value.count, b.key) }
      .map(\.key)
  }

  /// So many that hardly a tile is skipped, and not more than 40: a flight over half the world shows more than anybody could load.
  private static func stepCount(_ from: Viewport, _ to: Viewport) -> Int {
    let screens = hypot(to.x - from.x, to.y - from.y) / max(from.shortSide, to.shortSide) + abs(to.zoom - from.zoom)
    return Int(min(40, max(8, screens * 15)))
  }

  /// Where a drag leads within 0.8 s if it slows down as flings do.
  func addSweep(_ viewport: Viewport, _ velocity: CameraHistory.Velocity, _ plan: inout OrderedTiles) {
    let decay = 0.3
    for step in 1...8 {
      let seconds = decay * (1 - exp(-Double(step) / 10 / decay))
      var ahead = viewport
      ahead.x += velocity.x * seconds
      ahead.y += velocity.y * seconds
      ahead.zoom = max(0, ahead.zoom + max(-1.5, min(1.5, velocity.zoom * seconds)))
      plan.add(MissingOrder.middleFirst(Array(ahead.tiles), in: viewport.tiles))
    }
  }

  /// Where the way of the last 8 s leads within 40 s.
  func addTrack(_ viewport: Viewport, _ velocity: CameraHistory.Velocity, _ plan: inout OrderedTiles) {
    for step in 1...10 {
      var ahead = viewport
      ahead.x += velocity.x * Double(step) * 4
      ahead.y += velocity.y * Double(step) * 4
      plan.add(ahead.tiles)
    }
  }
}
