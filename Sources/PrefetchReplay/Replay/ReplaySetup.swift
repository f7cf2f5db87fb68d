import TileIndex
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
  /// Nil for what the cache does by itself.
  var unusedShareMax: Double?
  /// Is told each frame's number; a planner that knows the future needs it.
  var beforePlanning: @Sendable (Int) -> Void = { _ in }

  /// A cache and a loader of these.
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
