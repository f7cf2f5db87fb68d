import LibC
import TileIndex
import TilePrefetch

/// The reference policy for comparison, as simple as published ones. While the map moves it follows the velocity or the
/// target; at rest it takes a coarse pyramid, a ring of one tile, the next zoom out and the next zoom in.
struct ZoomRingPlanner: PrefetchPlanner {
  private var history: [(viewport: Viewport, phase: CameraPhase, time: Double)] = []

  mutating func update(_ viewport: Viewport, phase: CameraPhase, at time: Double) {
    history.append((viewport, phase, time))
    if history.count > 1200 { history.removeFirst(600) }
  }

  func plan(countMax: Int) -> [TileID] {
    guard let now = history.last else { return [] }
    var plan = OrderedTiles()
    switch now.phase {
    case .rest:
      plan.add(pyramid(now.viewport))
      plan.add(ring(now.viewport.tiles))
      var (outer, inner) = (now.viewport, now.viewport)
      outer.zoom = max(0, outer.zoom - 1)
      inner.zoom += 1
      plan.add(Array(outer.tiles))
      plan.add(Array(inner.tiles))
    case .drag, .pinch:
      sweep(now.viewport, velocity(window: 0.1), &plan)
    case .follow:
      var speed = velocity(window: 8)
      speed.zoom = 0
      for second in stride(from: 4.0, through: 40, by: 4) { add(now.viewport, speed, second, &plan) }
    case .fling(let target), .animation(let target):
      for part in 1...5 { plan.add(Array(now.viewport.towards(target, Double(part) / 5).tiles)) }
      plan.add(pyramid(now.viewport))
    }
    return Array(plan.tiles.prefix(countMax + now.viewport.tiles.count))
  }

  private typealias Velocity = (x: Double, y: Double, zoom: Double)

  /// Per second, over the frames of the present phase within a window of seconds.
  private func velocity(window: Double) -> Velocity {
    let now = history[history.count - 1]
    var first = history.count - 1
    while first > 0, now.time - history[first].time < window, history[first - 1].phase == now.phase { first -= 1 }
    let before = history[first]
    let seconds = now.time - before.time
    guard seconds > 0 else { return (0, 0, 0) }
    return (
      (now.viewport.x - before.viewport.x) / seconds, (now.viewport.y - before.viewport.y) / seconds,
      (now.viewport.zoom - before.viewport.zoom) / seconds
    )
  }

  /// The path of the map within 0.8 s if it decays like a fling.
  private func sweep(_ viewport: Viewport, _ velocity: Velocity, _ plan: inout OrderedTiles) {
    for step in 1...8 { add(viewport, velocity, 0.5 * (1 - exp(-Double(step) / 5)), &plan) }
  }

  private func add(_ viewport: Viewport, _ velocity: Velocity, _ seconds: Double, _ plan: inout OrderedTiles) {
    var ahead = viewport
    ahead.x += velocity.x * seconds
    ahead.y += velocity.y * seconds
    ahead.zoom += max(-1.5, min(1.5, velocity.zoom * seconds))
    if ahead.zoom >= 0 { plan.add(Array(ahead.tiles)) }
  }

  private func ring(_ range: TileRange) -> [TileID] {
    let wide = TileRange(
      zoom: range.zoom, columns: (range.columns.lowerBound - 1)...(range.columns.upperBound + 1),
      rows: (range.rows.lowerBound - 1)...(range.rows.upperBound + 1))
    return wide.filter { !range.contains($0) }
  }

  /// The tiles three zooms up that cover twice the screen's width and height.
  private func pyramid(_ viewport: Viewport) -> [TileID] {
    let range = viewport.tiles
    guard range.zoom >= 3 else { return [] }
    let (across, down) = (range.columns.count / 2, range.rows.count / 2)
    return Array(
      TileRange(
        zoom: range.zoom - 3,
        columns: ((range.columns.lowerBound - across) >> 3)...((range.columns.upperBound + across) >> 3),
        rows: ((range.rows.lowerBound - down) >> 3)...((range.rows.upperBound + down) >> 3)))
  }
}

/// The eviction order published with the reference policy: the larger of the distances across and down, plus 0.9 per
/// zoom and 1.5 for the age.
struct ReferenceEviction: EvictionPolicy {
  func rank(of tile: TileID, age: Double, focuses: [MapFocus]) -> Double {
    guard let focus = focuses.first else { return age }
    if focus.wanted[tile] != nil { return -1e9 + age }
    let (across, down) = focus.distance(to: tile)
    return max(across, down) + 0.9 * Double(abs(focus.around.zoom - tile.zoom)) + 1.5 * age
  }
}
