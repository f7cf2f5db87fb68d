import TilePrefetch

/// How a replay prefetches and evicts.
public enum ReplayPolicy: String, CaseIterable, Hashable, Sendable {
  /// No prefetch; the least recently used tile goes.
  case lru
  /// No prefetch; far and long unused tiles go.
  case distance
  /// The reference policy, with eviction by distance.
  case zoomring
  /// This project's: ``PrefetchPredictor`` with its eviction.
  case `default`
  /// Knows the future, prefetches and evicts by it.
  case oracle
  /// No prefetch; the tile that is needed last goes.
  case belady
}

extension ReplayPolicy {
  /// What a replay of a session needs to know of the policy.
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
      let future = Future(frames)
      setup.eviction = FutureEviction(future: future)
      setup.unusedShareMax = 1
      if self == .oracle { setup.planner = OraclePlanner(future: future) }
      setup.beforePlanning = { future.frame($0) }
    }
    return setup
  }
}
