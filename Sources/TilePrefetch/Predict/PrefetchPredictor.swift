import LibC
package import TileIndex

/// Predicts which tiles a map will show soon.
///
/// 1. A movement with a known target (a fling or an animation): the tiles of its path in the order in which they
///    appear, then those that are probable at its end.
/// 2. Fingers on the map: the path of the present velocity as it decays.
/// 3. GPS fixes: the extension of the track of the last seconds.
/// 4. At rest: what the next gesture will probably show (`NextGesture`).
/// 5. The few coarse tiles that cover the screen: first for a map at rest, last for one that moves.
///
/// It is a value without clock, threads or locks: the same viewports give the same plan. It supports tile matrix sets
/// with a ratio of 2 between zooms.
package struct PrefetchPredictor: PrefetchPlanner {
  /// What the prediction depends on besides the movement.
  package struct Options: Hashable, Sendable {
    /// How many tiles all loaders together can load per second. With a slow source the end of a movement comes before
    /// its path.
    package var tilesPerSecond: Double
    /// The zooms that the source has.
    package var zooms: ClosedRange<Int>
    /// The part of the world that the source has, from the west and from the north. Tiles outside are not loaded.
    package var x: ClosedRange<Double>
    /// The same from the north.
    package var y: ClosedRange<Double>
    /// True for a source that repeats the world beyond the antimeridian: column -1 is the last one of the world, and
    /// the column after the last the first. Other sources are not asked for such columns.
    package var goesAroundTheWorld = false
    /// Tiles with a lower probability are not loaded, however much room there is. Higher for sources that charge per
    /// tile.
    package var chanceMin: Double

    /// A suitable ``chanceMin`` for sources that charge per tile; docs/explanation/prefetch.md has the measurements.
    package static var meteredChanceMin: Double { 0.3 }

    /// The options of a map that covers a range of zooms and positions.
    package init(
      tilesPerSecond: Double = 800, zooms: ClosedRange<Int> = 0...22, x: ClosedRange<Double> = 0...1,
      y: ClosedRange<Double> = 0...1, chanceMin: Double = 0.05
    ) {
      self.tilesPerSecond = tilesPerSecond
      self.zooms = zooms
      (self.x, self.y) = (x, y)
      self.chanceMin = chanceMin
    }

    /// The zooms and the part of the world that a bundle of WebMercatorQuad has; nil when it has no tiles.
    ///
    /// - Throws: `BundleError`.
    package init?(covering bundle: any BundleReader) throws {
      let zooms = try bundle.zooms()
      guard let first = zooms.first, let last = zooms.last, let range = try bundle.range(zoom: last) else { return nil }
      self.init(zooms: first...last, finest: range)
    }

    /// - Parameter finest: the rectangle around the tiles of the last zoom.
    package init(zooms: ClosedRange<Int>, finest range: TileRange) {
      let count = exp2(Double(range.zoom))
      self.init(
        zooms: zooms,
        x: Double(range.columns.lowerBound) / count...Double(range.columns.upperBound + 1) / count,
        y: Double(range.rows.lowerBound) / count...Double(range.rows.upperBound + 1) / count)
    }
  }

  /// May be changed between two plans.
  package var options: Options
  /// The point on the map under the cursor, or between the fingers of the last pinch. The next zoom in is expected to
  /// be centred there while it is on the screen; nil when there is none.
  ///
  /// An app sets the cursor's position; a pinch sets the point that kept its position on the screen.
  package var point: MapPoint?
  var history = CameraHistory()

  /// A predictor that has seen nothing yet.
  package init(options: Options = Options()) {
    self.options = options
  }

  /// Takes what the map shows now. A viewport of numbers that are not finite, or that no map has, changes nothing; such
  /// a target counts as unknown.
  ///
  /// - Parameter time: seconds since any fixed moment, monotonic.
  package mutating func update(_ viewport: Viewport, phase: CameraPhase, at time: Double) {
    guard viewport.isUsable else { return }
    let phase = phase.withUsableTarget
    if phase != history.phase, let fixed = history.pinchPoint { point = fixed }
    history.add(viewport, phase, at: time)
  }

  /// - Complexity: O(n log n) in the tiles of the plan: a few hundred microseconds at most.
  package func plan(countMax: Int) -> [TileID] {
    guard let viewport = history.viewport else { return [] }
    let countMax = min(max(countMax, 0), Self.planMax)
    var plan = OrderedTiles()
    switch history.phase {
    case .rest:
      plan.add(atRest(viewport, after: history.last, countMax))
    case .animation(let target), .fling(let target):
      plan.add(alongPath(from: viewport, to: target))
      plan.add(atRest(target, after: Self.gesture(from: viewport, to: target), countMax))
    case .drag, .pinch:
      let velocity = history.velocity(window: 0.1)
      if velocity.isZero {
        plan.add(atRest(viewport, after: history.last, countMax))
      } else {
        addSweep(viewport, velocity, &plan)
        plan.add(coarse(viewport, countMax))
      }
    case .follow:
      let velocity = history.velocity(window: 8)
      if velocity.isZero {
        plan.add(atRest(viewport, after: history.last, countMax))
      } else {
        addTrack(viewport, velocity, &plan)
      }
    }
    let tiles = plan.tiles.lazy.filter { options.zooms.contains($0.zoom) && isInSource($0) }
    return Array(tiles.prefix(countMax + viewport.tiles.count))
  }

  /// More than any plan has.
  private static var planMax: Int { 1 << 24 }

  /// True when movements end before a slow source has loaded what they show.
  func isSlow(_ viewport: Viewport) -> Bool {
    options.tilesPerSecond * Self.movementDuration < Double(viewport.tiles.count)
  }

  /// The usual duration of a zoom in seconds.
  static var movementDuration: Double { 0.25 }

  /// The tiles three zooms up that cover the screen and the reach of a usual pan, about six, so that there is something
  /// to draw whatever the next gesture shows. None where they would take room from more probable tiles.
  private func coarse(_ viewport: Viewport, _ countMax: Int) -> [TileID] {
    let (span, zooms) = (ScreenSpan(viewport), Self.coarseZooms)
    guard span.zoom >= zooms else { return [] }
    let reach = NextGesture.panLength * span.side
    let range = span.range(beyond: reach, reach)
    let coarse = TileRange(
      zoom: range.zoom - zooms,
      columns: (range.columns.lowerBound >> zooms)...(range.columns.upperBound >> zooms),
      rows: (range.rows.lowerBound >> zooms)...(range.rows.upperBound >> zooms))
    guard coarse.count * Self.coarseRoom <= countMax else { return [] }
    return MissingOrder.middleFirst(Array(coarse), in: coarse)
  }

  static var coarseZooms: Int { 3 }
  /// How many tiles there must be room for, per coarse tile.
  static var coarseRoom: Int { 12 }

  private func atRest(_ viewport: Viewport, after last: CameraHistory.Gesture, _ countMax: Int) -> [TileID] {
    let shown = point.flatMap { viewport.shows($0) ? $0 : nil }
    var next = NextGesture(viewport: viewport, point: shown, odds: .init(after: last))
    var chanceMin = options.chanceMin
    if isSlow(viewport) {
      chanceMin = max(chanceMin, Self.slowChanceMin)
    } else {
      next.laterWeight = Self.laterWeight
      // The less room there is, the more probable a tile must be.
      chanceMin = max(chanceMin, min(Self.roomFactor / Double(max(countMax, 1)), Self.smallChanceMin))
      if history.announcement > 0.5 {
        // Half of an announced zoom's tiles are loaded while it runs.
        next.odds.zoomIn *= Self.announcedWeight.zoomIn
        next.odds.zoomOut *= Self.announcedWeight.zoomOut
      }
    }
    return coarse(viewport, countMax) + next.tiles(above: chanceMin)
  }

  static var slowChanceMin: Double { 0.1 }
  static var roomFactor: Double { 20 }
  static var smallChanceMin: Double { 0.2 }
  static var laterWeight: Double { 0.3 }
  static var announcedWeight: (zoomIn: Double, zoomOut: Double) { (0.7, 0.4) }

  private static func gesture(from: Viewport, to: Viewport) -> CameraHistory.Gesture {
    let zooms = to.zoom - from.zoom
    return abs(zooms) < 0.01 ? .pan : zooms > 0 ? .zoomIn : .zoomOut
  }

  private func isInSource(_ tile: TileID) -> Bool {
    let count = 1 << max(0, min(tile.zoom, TileID.zoomMax))
    func isIn(_ place: Int, _ range: ClosedRange<Double>) -> Bool {
      (0..<count).contains(place) && Double(place) / Double(count) < range.upperBound
        && Double(place + 1) / Double(count) > range.lowerBound
    }
    let column = options.goesAroundTheWorld ? tile.onEarth.column : tile.column
    return isIn(column, options.x) && isIn(tile.row, options.y)
  }
}

// MARK: - Paths of movements

extension PrefetchPredictor {
  /// The tiles that a movement with a known target will show, in the order of their appearance; of those that appear
  /// together, the ones that stay longest come first.
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

  /// Enough steps that hardly a tile is skipped, and at most 40: a flight across the world shows more tiles than can be
  /// loaded.
  private static func stepCount(_ from: Viewport, _ to: Viewport) -> Int {
    let screens = hypot(to.x - from.x, to.y - from.y) / max(from.shortSide, to.shortSide) + abs(to.zoom - from.zoom)
    return Int(min(40, max(8, screens * 15)))
  }

  /// The path of a drag within 0.8 s if it decays like a fling.
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

  /// The extension by 40 s of the track of the last 8 s.
  func addTrack(_ viewport: Viewport, _ velocity: CameraHistory.Velocity, _ plan: inout OrderedTiles) {
    for step in 1...10 {
      var ahead = viewport
      ahead.x += velocity.x * Double(step) * 4
      ahead.y += velocity.y * Double(step) * 4
      plan.add(ahead.tiles)
    }
  }
}
