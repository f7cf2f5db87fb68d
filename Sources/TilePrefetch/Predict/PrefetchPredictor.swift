public import TileIndex

/// Guesses which tiles a map will show soon.
///
/// 1. A movement whose end is known, a fling or an animation: what its path shows, in the order in which it shows it; then what is probable at its end.
/// 2. Fingers on the map: where the present velocity leads as it decays.
/// 3. GPS fixes: along the track of the last seconds.
/// 4. At rest: what the next gesture will probably show (``NextGesture``).
///
/// It is a value without clock, threads or locks: the same viewports give the same plan. Tiles are those of sets that step by 2.
public struct PrefetchPredictor: PrefetchPlanner {
  /// What the guesses depend on besides the movement.
  public struct Options: Hashable, Sendable {
    /// How many tiles can be loaded in a second, all loaders together. With a slow source the end of a movement comes before its path.
    public var tilesPerSecond: Double
    /// The zooms that the source has.
    public var zooms: ClosedRange<Int>
    /// Tiles less probable than this are not loaded, however much room there is; higher for sources that cost money.
    public var chanceMin: Double

    /// A good ``chanceMin`` for sources that cost money: docs/prefetch.md has the figures.
    public static var meteredChanceMin: Double { 0.3 }

    public init(tilesPerSecond: Double = 800, zooms: ClosedRange<Int> = 0...22, chanceMin: Double = 0.05) {
      self.tilesPerSecond = tilesPerSecond
      self.zooms = zooms
      self.chanceMin = chanceMin
    }
  }

  public var options: Options
  /// The place on the map under the cursor or between the fingers of the last pinch, where the next zoom in will be centred; nil when there is none.
  public var point: (x: Double, y: Double)?
  var history = CameraHistory()

  public init(options: Options = Options()) {
    self.options = options
  }

  public mutating func update(_ viewport: Viewport, phase: CameraPhase, at time: Double) {
    history.add(viewport, phase, at: time)
  }

  /// - Complexity: O(n log n) in the tiles of the plan: a few hundred microseconds at most.
  public func plan(countMax: Int) -> [TileID] {
    guard let viewport = history.viewport else { return [] }
    var plan = OrderedTiles()
    switch history.phase {
    case .rest: plan.add(atRest(viewport, after: history.last, countMax))
    case .animation(let target), .fling(let target):
      plan.add(alongPath(from: viewport, to: target))
      plan.add(atRest(target, after: Self.gesture(from: viewport, to: target), countMax))
    case .drag, .pinch:
      let velocity = history.velocity(window: 0.1)
      if velocity.isZero {
        plan.add(atRest(viewport, after: history.last, countMax))
      } else {
        addSweep(viewport, velocity, &plan)
      }
    case .follow: addTrack(viewport, &plan)
    }
    let tiles = plan.tiles.lazy.filter { options.zooms.contains($0.zoom) && Self.isInWorld($0) }
    return Array(tiles.prefix(countMax + viewport.tiles.count))
  }

  /// True when movements are over before a slow source has loaded what they show.
  func isSlow(_ viewport: Viewport) -> Bool {
    options.tilesPerSecond * Self.movementDuration < Double(viewport.tiles.count)
  }

  /// Seconds that a zoom usually takes.
  static var movementDuration: Double { 0.25 }

  private func atRest(_ viewport: Viewport, after last: CameraHistory.Gesture, _ countMax: Int) -> [TileID] {
    var next = NextGesture(viewport: viewport, point: point, odds: .init(after: last))
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
    return next.tiles(above: chanceMin)
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

  private static func isInWorld(_ tile: TileID) -> Bool {
    let count = 1 << max(0, min(tile.zoom, TileID.zoomMax))
    return (0..<count).contains(tile.column) && (0..<count).contains(tile.row)
  }
}
