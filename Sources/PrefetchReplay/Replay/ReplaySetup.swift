import TilePrefetch

/// How a replay loads, plans and evicts.
struct ReplaySetup: Sendable {
  var loaderCount: Int
  /// Bytes.
  var budget: Int
  /// What a tile costs at most.
  var tileCost: Int
  var isMetered: Bool
  var eviction: any EvictionPolicy = DistanceEviction()
  var planner: any PrefetchPlanner = NoPlanner()
  /// False for policies that plan at events only.
  var plansEveryFrame = false
  var unusedShareMax = 0.6
  /// Is told each frame's number; a planner that knows the future needs it.
  var beforePlanning: @Sendable (Int) -> Void = { _ in }

  /// A cache and a loader of these.
  ///
  /// - Parameter now: the replay's clock.
  func make(now: (@Sendable () -> Duration)? = nil) -> MapLoader<ReplayTile> {
    MapLoader(
      cache: TileCache(byteCountMax: budget, eviction: eviction, unusedShareMax: unusedShareMax, now: now),
      planner: planner, source: .init(loadsMax: loaderCount, extraMax: isMetered ? 0.5 : nil), tileCost: tileCost)
  }
}
