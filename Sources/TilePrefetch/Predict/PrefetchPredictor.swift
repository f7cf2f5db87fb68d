public import TileIndex

/// Guesses which tiles a map will show soon.
///
/// 1. A movement whose end is known, a fling or an animation: what its path shows, in the order in which it shows it; then what is probable at its end.
/// 2. Fingers on the map: where the present velocity leads as it decays.
/// 3. GPS fixes: along the track of the last seconds.
/// 4. At rest: what the next gesture will probably show (``NextGesture``).
/// 5. The few coarse tiles that cover the screen: first for a map at rest, last for one that moves.
///
/// It is a value without clock, threads or locks: the same viewports give the same plan. Tiles are those of sets that step by 2.
public struct PrefetchPredictor: PrefetchPlanner {
  /// What the guesses depend on besides the movement.
  public struct Options: Hashable, Sendable {
    /// How many tiles can be loaded in a second, all loaders together. With a slow source the end of a movement comes before its path.
    public var tilesPerSecond: Double
    /// The zooms that the source has.
    public var zooms: ClosedRange<Int>
    /// The part of the world that the source has, from the west and from the north; tiles beyond it are not loaded.
    public var x: ClosedRange<Double>
    public var y: ClosedRange<Double>
    /// Tiles less probable than this are not loaded, however much room there is; higher for sources that cost money.
    public var chanceMin: Double

    /// A good ``chanceMin`` for sources that cost money: docs/prefetch.md has the figures.
    public static var meteredChanceMin: Double { 0.3 }

    public init(
      tilesPerSecond: Double = 800, zooms: ClosedRange<Int> = 0...22, x: ClosedRange<Double> = 0...1,
      y: ClosedRange<Double> = 0...1, chanceMin: Double = 0.05
    ) {
      self.tilesPerSecond = tilesPerSecond
      self.zooms = zooms
      (self.x, self.y) = (x, y)
      self.chanceMin = chanceMin
    }
  }

  public var options: Options
  /// The place on the map under the cursor or between the fingers of the last pinch, where the next zoom in will be centred while it is on the screen; nil when there is none.
  ///
  /// An app sets the cursor's; the pinch's is what stayed where it was while the map grew or shrank.
  public var point: MapPoint?
  var history = CameraHistory()

  public init(options: Options = Options()) {
    self.options = options
  }

  public mutating func update(_ viewport: Viewport, phase: CameraPhase, at time: Double) {
    if phase != history.phase, let fixed = history.pinchPoint { point = fixed }
    history.add(viewport, phase, at: time)
  }

  /// - Complexity: O(n log n) in the tiles of the plan: a few hundred microseconds at most.
  public func plan(countMax: Int) -> [TileID] {
    guard let viewport = history.viewport else { return [] }
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

  /// True when movements are over before a slow source has loaded what they show.
  func isSlow(_ viewport: Viewport) -> Bool {
    options.tilesPerSecond * Self.movementDuration < Double(viewport.tiles.count)
  }

  /// Seconds that a zoom usually takes.
  static var movementDuration: Double { 0.25 }

  /// The tiles three zooms up that cover the screen and what a pan usually brings onto it, some six: whatever the next gesture shows, there is something to draw. None where they would take
  /// room from surer ones.
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
  /// How many tiles there must be room for, for each coarse one.
  static var coarseRoom: Int { 12 }

  private func atRest(_ viewport: Viewport, after last: CameraHistory.Gesture, _ countMax: Int) -> [TileID] {
    let shown = point.flatMap { viewport.shows($0) ? $0 : nil }
    var next = NextGesture(viewport: viewport, point: shown, odds: .init(after: last))
    var chanceMin = options.chanceMin
    if isSlow(viewport) {
      chanceMin = max(chanceMin, Self.slowChanceMin)
    } else {
      next.laterWeight = Self.laterWeight
      // The less room, the surer a tile must be.
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
    return isIn(tile.column, options.x) && isIn(tile.row, options.y)
  }
}
