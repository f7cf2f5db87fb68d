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
  /// Replays a session in virtual time.
  package func replay(_ frames: SessionFrames, source: ReplaySource, budget: Int, tileCost: Int) -> ReplayScore {
    var settings = VirtualReplay.Settings(
      budget: budget, tileCost: tileCost, eviction: DistanceEviction(), unusedShareMax: 0.6)
    settings.source = source
    var replay: VirtualReplay
    switch self {
    case .lru, .distance:
      if self == .lru { settings.eviction = LRUEviction() }
      replay = VirtualReplay(frames, settings, planner: NoPlanner(), plansEveryFrame: false)
    case .zoomring:
      settings.eviction = ReferenceEviction()
      replay = VirtualReplay(frames, settings, planner: ZoomRingPlanner(), plansEveryFrame: false)
    case .default:
      let options = PrefetchPredictor.Options(tilesPerSecond: Double(source.loaderCount) / source.loadTime)
      settings.unusedShareMax = 0.6
      replay = VirtualReplay(frames, settings, planner: PrefetchPredictor(options: options), plansEveryFrame: true)
    case .oracle, .belady:
      let future = Future(frames)
      settings.eviction = FutureEviction(future: future)
      settings.unusedShareMax = 1
      let planner: any PrefetchPlanner = self == .oracle ? OraclePlanner(future: future) : NoPlanner()
      replay = VirtualReplay(
        frames, settings, planner: planner, plansEveryFrame: false, beforePlanning: { future.frame($0) })
    }
    return replay.run()
  }
}
