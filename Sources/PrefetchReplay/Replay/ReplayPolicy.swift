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
  /// Replays a session.
  ///
  /// - Parameter tiles: where tiles come from; virtual ones unless given.
  func replay(_ frames: SessionFrames, _ settings: ReplaySettings, tiles: (any ReplayTiles)? = nil) -> ReplayScore {
    let source = settings.source
    let cost = settings.tier.tileCost
    let tiles = tiles ?? VirtualTiles(cost: cost, seconds: source.loadTime)
    var inner = VirtualReplay.Settings(
      loaderCount: source.loaderCount, budget: settings.budget, tileCost: cost, eviction: DistanceEviction(),
      unusedShareMax: 0.6, isMetered: settings.isMetered)
    var replay: VirtualReplay
    switch self {
    case .lru, .distance:
      if self == .lru { inner.eviction = LRUEviction() }
      replay = VirtualReplay(frames, inner, tiles: tiles, planner: NoPlanner(), plansEveryFrame: false)
    case .zoomring:
      inner.eviction = ReferenceEviction()
      replay = VirtualReplay(frames, inner, tiles: tiles, planner: ZoomRingPlanner(), plansEveryFrame: false)
    case .default:
      let options = PrefetchPredictor.Options(tilesPerSecond: Double(source.loaderCount) / source.loadTime)
      replay = VirtualReplay(
        frames, inner, tiles: tiles, planner: PrefetchPredictor(options: options), plansEveryFrame: true)
    case .oracle, .belady:
      let future = Future(frames)
      inner.eviction = FutureEviction(future: future)
      inner.unusedShareMax = 1
      let planner: any PrefetchPlanner = self == .oracle ? OraclePlanner(future: future) : NoPlanner()
      replay = VirtualReplay(
        frames, inner, tiles: tiles, planner: planner, plansEveryFrame: false,
        beforePlanning: { future.frame($0) })
    }
    return replay.run()
  }
}
