import TileIndex

/// How many tiles would have been loaded by now if nothing were loaded ahead: the same screens, on a cache of the same size, with loads that take as long as the real ones.
///
/// It holds names of tiles, not tiles. What the first screen needs is not counted.
struct UnaidedLoads: Sendable {
  private let loader: MapLoader<Void>
  /// Loads under way, the first to end first.
  private var busy: [(end: Duration, load: TileLoad<TileID, Void>)] = []
  private var hasStarted = false
  private(set) var count = 0

  init(byteCountMax: Int, eviction: any EvictionPolicy, loadsMax: Int, tileCost: Int) {
    loader = MapLoader(
      cache: TileCache(byteCountMax: byteCountMax, eviction: eviction), planner: NothingAhead(),
      source: .init(loadsMax: loadsMax), tileCost: tileCost)
  }

  /// Takes a frame of the map.
  ///
  /// - Parameters:
  ///   - loadTime: what a load took of late.
  ///   - byteCountMax: the real cache's budget.
  ///   - tileCost: what a tile costs of late.
  ///   - isAbsent: says which tiles the source is known not to have.
  mutating func update(
    _ viewport: Viewport, phase: CameraPhase, at now: Duration, loadTime: Duration, byteCountMax: Int, tileCost: Int,
    isAbsent: (TileID) -> Bool
  ) {
    // 1. What has ended makes room for the next.
    while let first = busy.first, first.end <= now {
      busy.removeFirst()
      loader.finish(first.load, .tile((), byteCount: tileCost))
      feed(first.end, loadTime, isAbsent)
    }
    // 2. The map moves.
    if loader.cache.byteCountMax != byteCountMax { loader.cache.resize(to: byteCountMax) }
    loader.update(viewport, phase: phase, at: 0)
    // 3. Free loaders take what is missing.
    guard hasStarted else {
      hasStarted = true
      while let load = loader.next() { loader.finish(load, .tile((), byteCount: tileCost)) }
      return
    }
    feed(now, loadTime, isAbsent)
  }

  private mutating func feed(_ now: Duration, _ loadTime: Duration, _ isAbsent: (TileID) -> Bool) {
    while let load = loader.next() {
      guard !isAbsent(load.key) else {
        loader.finish(load, .absent)
        continue
      }
      count += 1
      let end = now + loadTime
      let place = busy.lastIndex { $0.end <= end }.map { $0 + 1 } ?? 0
      busy.insert((end, load), at: place)
    }
  }
}

/// Loads nothing ahead.
private struct NothingAhead: PrefetchPlanner {
  mutating func update(_ viewport: Viewport, phase: CameraPhase, at time: Double) {}
  func plan(countMax: Int) -> [TileID] { [] }
}
