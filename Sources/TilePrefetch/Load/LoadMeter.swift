import TileIndex

/// Limits prefetch from a source that charges per tile: total loads stay within a multiple of what would have been
/// loaded without prefetch.
///
/// The first screen counts on neither side: a map that is opened and closed again costs no more than without prefetch.
struct LoadMeter: Sendable {
  private let extraMax: Double
  /// Two simulations, with this cache's eviction policy and with LRU: which of them loads less differs from session to
  /// session.
  private var unaided: [BaselineLoads]
  /// Loads of all kinds.
  private var count = 0
  /// Missing tiles of the first screen; nil until there is one.
  private var firstScreen: Set<TileID>?
  /// Moving averages: the duration of a load and the cost of a tile.
  private var loadTime = Duration.seconds(1)
  private var tileCost: Int
  private var hasMeasured = false

  /// The rest of the bound pays for tiles that were evicted for prefetched ones and are loaded again.
  private static var aheadShare: Double { 0.96 }
  /// The weight of each new measurement.
  private static var newShare: Double { 0.125 }

  init(extraMax: Double, _ cache: TileCache<TileID, some Sendable>, loadsMax: Int, tileCost: Int) {
    self.extraMax = extraMax
    self.tileCost = tileCost
    unaided = [cache.eviction, LRUEviction()].map {
      BaselineLoads(byteCountMax: cache.byteCountMax, eviction: $0, loadsMax: loadsMax, tileCost: tileCost)
    }
  }

  /// The lower of the two simulated counts.
  var loads: (all: Int, unaided: Int) { (count, unaided.map(\.count).min() ?? 0) }

  /// True when one more tile may be prefetched.
  var allowsAhead: Bool { Double(count + 1) <= Double(loads.unaided) * (1 + extraMax * Self.aheadShare) }

  /// Takes a frame of the map, before the loader does.
  mutating func update(_ viewport: Viewport, phase: CameraPhase, _ cache: TileCache<TileID, some Sendable>) {
    if firstScreen == nil { firstScreen = Set(viewport.tiles.filter { !cache.contains($0) }) }
    for index in unaided.indices {
      unaided[index].update(
        viewport, phase: phase, at: cache.now(), loadTime: loadTime, byteCountMax: cache.byteCountMax,
        tileCost: tileCost, isAbsent: { cache.isAbsent($0) })
    }
  }

  mutating func began(_ tile: TileID) {
    if firstScreen?.remove(tile) == nil { count += 1 }
  }

  /// - Parameter byteCount: nil when no tile was loaded.
  mutating func ended(after time: Duration, byteCount: Int?) {
    loadTime = hasMeasured ? loadTime + (time - loadTime) * Self.newShare : time
    if let byteCount {
      tileCost = hasMeasured ? tileCost + Int(Double(byteCount - tileCost) * Self.newShare) : byteCount
    }
    hasMeasured = true
  }
}

/// Simulates how many tiles would have been loaded by now without prefetch: the same screens, a cache of the same size,
/// and loads that take as long as the real ones.
///
/// It stores tile IDs, not tiles. The first screen is not counted.
struct BaselineLoads: Sendable {
  private let loader: MapLoader<Void>
  /// Loads in progress, ordered by their ends.
  private var busy: [(end: Duration, load: TileLoad<TileID, Void>)] = []
  private var hasStarted = false
  private(set) var count = 0

  init(byteCountMax: Int, eviction: any EvictionPolicy, loadsMax: Int, tileCost: Int) {
    loader = MapLoader(
      cache: TileCache(byteCountMax: byteCountMax, eviction: eviction), planner: NoPrefetch(),
      source: .init(loadsMax: loadsMax), tileCost: tileCost)
  }

  /// Takes a frame of the map.
  ///
  /// - Parameters:
  ///   - loadTime: the recent duration of a load.
  ///   - byteCountMax: the real cache's budget.
  ///   - tileCost: the recent cost of a tile.
  ///   - isAbsent: returns whether the source is known not to have a tile.
  mutating func update(
    _ viewport: Viewport, phase: CameraPhase, at now: Duration, loadTime: Duration, byteCountMax: Int, tileCost: Int,
    isAbsent: (TileID) -> Bool
  ) {
    // 1. Loads that have ended free their loaders for the next tiles.
    while let first = busy.first, first.end <= now {
      busy.removeFirst()
      loader.finish(first.load, .tile((), byteCount: tileCost))
      feed(first.end, loadTime, isAbsent)
    }
    // 2. The map moves.
    if loader.cache.byteCountMax != byteCountMax { loader.cache.resize(to: byteCountMax) }
    loader.update(viewport, phase: phase, at: 0)
    // 3. Free loaders take missing tiles.
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
