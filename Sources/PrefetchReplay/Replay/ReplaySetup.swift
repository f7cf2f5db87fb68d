import TileIndex
import TilePrefetch

/// How a replay loads, plans and evicts.
struct ReplaySetup: Sendable {
  var loaderCount: Int
  /// In bytes.
  var budget: Int
  /// The most that a tile costs.
  var tileCost: Int
  var isMetered: Bool
  var eviction: any EvictionPolicy = DistanceEviction()
  var planner: any PrefetchPlanner = NoPrefetch()
  /// False for policies that plan only at events.
  var plansEveryFrame = false
  /// Nil for the cache's default.
  var unusedShareMax: Double?
  /// Called with each frame's index, for planners that know the future.
  var beforePlanning: @Sendable (Int) -> Void = { _ in }

  /// A loader with its cache.
  ///
  /// - Parameter now: the replay's clock.
  func make(now: (@Sendable () -> Duration)? = nil) -> MapLoader<ReplayTile> {
    let cache =
      if let unusedShareMax {
        TileCache<TileID, ReplayTile>(
          byteCountMax: budget, eviction: eviction, unusedShareMax: unusedShareMax, now: now)
      } else {
        TileCache<TileID, ReplayTile>(byteCountMax: budget, eviction: eviction, now: now)
      }
    return MapLoader(
      cache: cache, planner: planner, source: .init(loadsMax: loaderCount, extraMax: isMetered ? 0.5 : nil),
      tileCost: tileCost)
  }
}

extension ReplayPolicy {
  /// The setup for replaying a session with this policy.
  ///
  /// - Parameter coverage: what the source has; nil for everything.
  func setup(_ frames: SessionFrames, _ settings: ReplaySettings, coverage: BundleCoverage? = nil) -> ReplaySetup {
    let source = settings.source
    var setup = ReplaySetup(
      loaderCount: source.loaderCount, budget: settings.budget, tileCost: settings.tier.tileCost,
      isMetered: settings.isMetered)
    switch self {
    case .lru: setup.eviction = LRUEviction()
    case .distance: break
    case .zoomring:
      setup.eviction = ReferenceEviction()
      setup.planner = ZoomRingPlanner()
    case .default:
      var options = PrefetchPredictor.Options(
        tilesPerSecond: Double(source.loaderCount) / source.loadTime)
      if let coverage { (options.zooms, options.x, options.y) = (coverage.zooms, coverage.x, coverage.y) }
      if settings.isMetered { options.chanceMin = PrefetchPredictor.Options.meteredChanceMin }
      setup.planner = PrefetchPredictor(options: options)
      setup.plansEveryFrame = true
    case .oracle, .belady:
      let future = FutureAccesses(frames)
      setup.eviction = ClairvoyantEviction(future: future)
      setup.unusedShareMax = 1
      if self == .oracle { setup.planner = OraclePlanner(future: future) }
      setup.beforePlanning = { future.frame($0) }
    }
    return setup
  }
}
